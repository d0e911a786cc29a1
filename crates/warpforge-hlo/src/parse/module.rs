//! Modules, functions and aliases.

use std::collections::HashSet;

use super::alias::Aliases;
use super::attribute::{self, Scope};
use super::body::Names;
use super::cursor::{Cursor, Parse};
use super::location::RawLocations;
use super::types;
use crate::attribute::{Attribute, Attributes};
use crate::ir::{
    Argument, Function, FunctionResult, LocationId, Op, Program, Region, Value, ValueId,
};
use crate::limits::Limits;
use crate::types::Type;

/// Everything a text is read with.
pub(super) struct Parser<'text> {
    pub(super) cursor: Cursor<'text>,
    pub(super) limits: &'text Limits,
    pub(super) aliases: Aliases<Attribute>,
    pub(super) type_aliases: Aliases<Type>,
    pub(super) locations: RawLocations,
    pub(super) constant_bytes: usize,
    pub(super) ops_left: usize,
    pub(super) notes: Vec<String>,
    /// The values of the function being read, and their names.
    pub(super) values: Vec<Value>,
    pub(super) names: Names<'text>,
    program: Program,
    /// The names of the functions read so far.
    function_names: HashSet<String>,
}

impl<'text> Parser<'text> {
    pub(super) fn new(text: &'text str, limits: &'text Limits) -> Self {
        Self {
            cursor: Cursor::new(text, limits),
            limits,
            aliases: Aliases::default(),
            type_aliases: Aliases::default(),
            locations: RawLocations::default(),
            constant_bytes: limits.constant_bytes,
            ops_left: limits.ops,
            notes: Vec::new(),
            values: Vec::new(),
            names: Names::default(),
            program: Program::default(),
            function_names: HashSet::new(),
        }
    }

    pub(super) fn program(mut self) -> Parse<Program> {
        let mut modules = 0;
        while !self.cursor.is_end() {
            match self.cursor.peek() {
                Some(b'#' | b'!') => self.alias()?,
                Some(b'"') => modules += usize::from(self.generic_top()?),
                _ => match self.cursor.peek_word() {
                    "module" | "builtin.module" => {
                        self.module()?;
                        modules += 1;
                    }
                    _ => self.top_level()?,
                },
            }
            if modules > 1 {
                return self.cursor.fail("a program is one module; this is the second");
            }
        }
        if self.program.functions.is_empty() {
            return self.cursor.fail("the program has no function");
        }
        let mut roots = Vec::new();
        for function in &mut self.program.functions {
            for_each_location(function, &mut |id| roots.push(*id));
        }
        let (locations, places) = self.locations.resolve(&roots)?;
        for function in &mut self.program.functions {
            for_each_location(function, &mut |id| {
                *id = places[id.0 as usize].expect("every root has a place");
            });
        }
        self.program.locations = locations;
        self.program.notes = self.notes;
        Ok(self.program)
    }

    pub(super) fn scope(&mut self) -> (&mut Cursor<'text>, Scope<'_>) {
        let scope = Scope {
            aliases: &self.aliases,
            type_aliases: &self.type_aliases,
            limits: self.limits,
            constant_bytes: &mut self.constant_bytes,
        };
        (&mut self.cursor, scope)
    }

    pub(super) fn dictionary(&mut self) -> Parse<Attributes> {
        let (cursor, mut scope) = self.scope();
        attribute::dictionary(cursor, &mut scope)
    }

    pub(super) fn attribute(&mut self) -> Parse<Attribute> {
        let (cursor, mut scope) = self.scope();
        attribute::attribute(cursor, &mut scope)
    }

    pub(super) fn ty(&mut self) -> Parse<Type> {
        let (cursor, scope) = self.scope();
        types::ty(cursor, &scope.types())
    }

    pub(super) fn location(&mut self) -> Parse<Option<LocationId>> {
        self.locations.optional(&mut self.cursor)
    }

    /// `#name = ...` or `!name = ...`.
    fn alias(&mut self) -> Parse<()> {
        let is_type = self.cursor.eat("!");
        if !is_type {
            self.cursor.expect("#")?;
        }
        let name = self.cursor.suffix()?;
        self.cursor.expect("=")?;
        if is_type {
            let ty = self.ty()?;
            self.type_aliases.define(name, ty);
        } else if self.cursor.peek_word() == "loc" {
            self.locations.define(name, &mut self.cursor)?;
        } else {
            let value = self.attribute()?;
            self.aliases.define(name, value);
        }
        Ok(())
    }

    fn module(&mut self) -> Parse<()> {
        self.cursor.word();
        if self.cursor.peek() == Some(b'@') {
            self.program.name = Some(self.cursor.symbol()?);
        }
        if self.cursor.eat_word("attributes") {
            self.program.attributes = self.dictionary()?;
        }
        self.cursor.expect("{")?;
        while !self.cursor.eat("}") {
            self.top_level()?;
        }
        self.location()?;
        Ok(())
    }

    /// A function, or something else at the level of functions.
    fn top_level(&mut self) -> Parse<()> {
        if self.cursor.peek() == Some(b'"') {
            self.generic_top()?;
            return Ok(());
        }
        let start = self.cursor.at;
        match self.cursor.word() {
            "func.func" | "func" => self.function(start),
            "sdy.mesh" => {
                let name = self.cursor.symbol()?;
                self.cursor.expect("=")?;
                self.cursor.expect("<")?;
                self.cursor.balanced(b'>')?;
                self.location()?;
                self.note(format!("the mesh @{name} is not used: programs run on one device"));
                Ok(())
            }
            "" => {
                let found = self.cursor.describe_next();
                self.cursor.fail(format!("expected `func.func` or `}}`, found {found}"))
            }
            word => {
                let message = format!("`{word}` cannot stand here; expected `func.func`");
                self.cursor.fail_at(start, message)
            }
        }
    }

    pub(super) fn note(&mut self, note: String) {
        // A text could have any number of different ones; after some, another says nothing new.
        if self.notes.len() < 100 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// `func.func public @main(%arg0: T) -> (T) { ... }`; the first word has been read.
    fn function(&mut self, offset: usize) -> Parse<()> {
        self.begin_function();
        let public = !self.cursor.eat_word("private");
        if public && !self.cursor.eat_word("public") {
            self.cursor.eat_word("nested");
        }
        let name = self.cursor.symbol()?;
        self.cursor.expect("(")?;
        let mut arguments = Vec::new();
        while !self.cursor.eat(")") {
            if !arguments.is_empty() {
                self.cursor.expect(",")?;
            }
            arguments.push(self.argument()?);
        }
        let results = if self.cursor.eat("->") { self.function_results()? } else { Vec::new() };
        let attributes = if self.cursor.eat_word("attributes") {
            self.dictionary()?
        } else {
            Attributes::default()
        };
        if self.cursor.peek() != Some(b'{') {
            return self.cursor.fail(format!("the function @{name} has no body"));
        }
        self.cursor.expect("{")?;
        let ops = self.ops_until_brace()?;
        let location = self.location()?;
        let body =
            Region { arguments: arguments.iter().map(|argument| argument.value).collect(), ops };
        self.end_function(Function {
            name,
            public,
            arguments,
            results,
            attributes,
            body,
            values: Vec::new(),
            location,
            offset,
        })
    }

    fn begin_function(&mut self) {
        self.values.clear();
        self.names.clear();
    }

    fn end_function(&mut self, mut function: Function) -> Parse<()> {
        function.values = std::mem::take(&mut self.values);
        if !self.function_names.insert(function.name.clone()) {
            let message = format!("the function @{} is defined twice", function.name);
            return self.cursor.fail_at(function.offset, message);
        }
        self.program.functions.push(function);
        Ok(())
    }

    fn argument(&mut self) -> Parse<Argument> {
        let start = self.cursor.at;
        if self.cursor.peek() != Some(b'%') {
            let found = self.cursor.describe_next();
            return self
                .cursor
                .fail(format!("expected an argument such as %arg0: tensor<f32>, found {found}"));
        }
        self.cursor.at += 1;
        let name = self.cursor.suffix()?;
        self.cursor.expect(":")?;
        let ty = self.ty()?;
        let value = self.define(name, ty, start)?;
        let attributes = if self.cursor.peek() == Some(b'{') {
            self.dictionary()?
        } else {
            Attributes::default()
        };
        let location = self.location()?;
        Ok(Argument { value, attributes, location })
    }

    fn function_results(&mut self) -> Parse<Vec<FunctionResult>> {
        if !self.cursor.eat("(") {
            let ty = self.ty()?;
            return Ok(vec![FunctionResult { ty, attributes: Attributes::default() }]);
        }
        let mut results = Vec::new();
        while !self.cursor.eat(")") {
            if !results.is_empty() {
                self.cursor.expect(",")?;
            }
            let ty = self.ty()?;
            let attributes = if self.cursor.peek() == Some(b'{') {
                self.dictionary()?
            } else {
                Attributes::default()
            };
            self.location()?;
            results.push(FunctionResult { ty, attributes });
        }
        Ok(results)
    }

    /// `"builtin.module"() <{...}> ({ ... }) : () -> ()` or `"func.func"()...`; whether it was a module.
    fn generic_top(&mut self) -> Parse<bool> {
        let offset = self.cursor.at;
        let name = self.cursor.utf8_string()?;
        self.cursor.list("(", ")", |cursor| cursor.fail::<()>("no operand can stand here"))?;
        let mut attributes = Attributes::default();
        if self.cursor.eat("<") {
            attributes = self.dictionary()?;
            self.cursor.expect(">")?;
        }
        match name.as_str() {
            "builtin.module" => {
                self.cursor.expect("(")?;
                self.cursor.expect("{")?;
                if self.cursor.eat("^") {
                    self.cursor.suffix()?;
                    if self.cursor.eat("(") {
                        self.cursor.expect(")")?;
                    }
                    self.cursor.expect(":")?;
                }
                while !self.cursor.eat("}") {
                    self.top_level()?;
                }
                self.cursor.expect(")")?;
                self.generic_tail(&mut attributes)?;
                if let Some(Attribute::String(name)) = attributes.take("sym_name") {
                    self.program.name = Some(String::from_utf8_lossy(&name).into_owned());
                }
                self.program.attributes = attributes;
                Ok(true)
            }
            "func.func" => self.generic_function(offset, attributes).map(|()| false),
            other => self
                .cursor
                .fail_at(offset, format!("`{other}` cannot stand here; expected \"func.func\"")),
        }
    }

    /// `{attributes} : () -> () loc(...)` after a top-level op in the generic form.
    fn generic_tail(&mut self, attributes: &mut Attributes) -> Parse<Option<LocationId>> {
        if self.cursor.peek() == Some(b'{') {
            attributes.0.extend(self.dictionary()?.0);
        }
        self.cursor.expect(":")?;
        let (cursor, scope) = self.scope();
        attribute::functional(cursor, &scope.types())?;
        self.location()
    }

    fn generic_function(&mut self, offset: usize, mut attributes: Attributes) -> Parse<()> {
        self.begin_function();
        self.cursor.expect("(")?;
        self.cursor.expect("{")?;
        let body = self.region_rest()?;
        self.cursor.expect(")")?;
        let location = self.generic_tail(&mut attributes)?;
        let name = match attributes.take("sym_name") {
            Some(Attribute::String(name)) => String::from_utf8_lossy(&name).into_owned(),
            _ => return self.cursor.fail_at(offset, "the function has no `sym_name`"),
        };
        let types = match attributes.take("function_type") {
            Some(Attribute::FunctionType(arguments, results)) => (arguments, results),
            _ => {
                return self
                    .cursor
                    .fail_at(offset, format!("the function @{name} has no `function_type`"));
            }
        };
        let public = attributes
            .take("sym_visibility")
            .is_none_or(|visibility| visibility.as_text() != Some("private"));
        let mut details = |key: &str| match attributes.take(key) {
            Some(Attribute::Array(items)) => items,
            _ => Vec::new(),
        };
        let (argument_details, result_details) = (details("arg_attrs"), details("res_attrs"));
        if types.0.len() != body.arguments.len() {
            return self
                .cursor
                .fail_at(offset, format!("the type of @{name} and its block differ in arguments"));
        }
        let detail = |list: &[Attribute], index: usize| match list.get(index) {
            Some(Attribute::Dictionary(attributes)) => attributes.clone(),
            _ => Attributes::default(),
        };
        let arguments = body.arguments.iter().enumerate().map(|(index, value)| Argument {
            value: *value,
            attributes: detail(&argument_details, index),
            location: None,
        });
        let results = types
            .1
            .into_iter()
            .enumerate()
            .map(|(index, ty)| FunctionResult { ty, attributes: detail(&result_details, index) });
        self.end_function(Function {
            name,
            public,
            arguments: arguments.collect(),
            results: results.collect(),
            attributes,
            body,
            values: Vec::new(),
            location,
            offset,
        })
    }

    /// Gives a new value its name.
    pub(super) fn define(&mut self, name: &'text str, ty: Type, offset: usize) -> Parse<ValueId> {
        let id = self.new_value(name, ty)?;
        if !self.names.define(name, id, 1) {
            return self.cursor.fail_at(offset, format!("%{name} is defined twice"));
        }
        Ok(id)
    }

    pub(super) fn new_value(&mut self, name: &str, ty: Type) -> Parse<ValueId> {
        let Ok(number) = u32::try_from(self.values.len()) else {
            return self.cursor.limit("more values than can be counted");
        };
        self.values.push(Value { ty, name: name.into() });
        Ok(ValueId(number))
    }
}

/// Calls `visit` for each location of a function, in the order of the text.
fn for_each_location(function: &mut Function, visit: &mut dyn FnMut(&mut LocationId)) {
    // Regions nest no deeper than the limits allow.
    fn walk(ops: &mut [Op], visit: &mut dyn FnMut(&mut LocationId)) {
        for op in ops {
            for region in &mut op.regions {
                walk(&mut region.ops, visit);
            }
            op.location.iter_mut().for_each(&mut *visit);
        }
    }
    for argument in &mut function.arguments {
        argument.location.iter_mut().for_each(&mut *visit);
    }
    walk(&mut function.body.ops, visit);
    function.location.iter_mut().for_each(visit);
}
