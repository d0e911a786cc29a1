//! JUnit XML in the form that Jenkins, GitLab and the common XSDs accept. Texts from outside are made inert by whoever fills in a
//! suite; what XML forbids is taken out here.

use std::fmt::Write;

/// One test case.
pub struct Case {
    /// What it belongs to.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// How it ended.
    pub end: End,
}

/// How a case ended.
pub enum End {
    /// As it should.
    Passed,
    /// Not, for this reason.
    Failed(String),
    /// Undecided, for this reason.
    Skipped(String),
}

/// One test suite.
pub struct Suite {
    /// Its name.
    pub name: String,
    /// The machine.
    pub host: String,
    /// When it began: `2026-01-31T12:00:00`.
    pub timestamp: String,
    /// What is known beside the cases.
    pub properties: Vec<(String, String)>,
    /// The cases.
    pub cases: Vec<Case>,
    /// What is shown beside them.
    pub output: String,
}

/// The whole file.
pub fn document(suites: &[Suite]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (id, suite) in suites.iter().enumerate() {
        write_suite(&mut text, id, suite);
    }
    text.push_str("</testsuites>\n");
    text
}

fn write_suite(text: &mut String, id: usize, suite: &Suite) {
    let count = |wanted: fn(&End) -> bool| suite.cases.iter().filter(|c| wanted(&c.end)).count();
    let seconds: f64 = suite.cases.iter().map(|case| case.seconds).sum();
    writeln!(
        text,
        "  <testsuite id=\"{id}\" name=\"{}\" package=\"warpt\" hostname=\"{}\" timestamp=\"{}\" tests=\"{}\" \
         failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{seconds:.3}\">",
        attribute(&suite.name),
        attribute(&suite.host),
        suite.timestamp,
        suite.cases.len(),
        count(|end| matches!(end, End::Failed(_))),
        count(|end| matches!(end, End::Skipped(_))),
    )
    .expect("text grows");
    text.push_str("    <properties>\n");
    for (name, value) in &suite.properties {
        writeln!(
            text,
            "      <property name=\"{}\" value=\"{}\"/>",
            attribute(name),
            attribute(value)
        )
        .expect("text grows");
    }
    text.push_str("    </properties>\n");
    for case in &suite.cases {
        write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            attribute(&case.class),
            attribute(&case.name),
            case.seconds
        )
        .expect("text grows");
        let end = match &case.end {
            End::Passed => "/>".to_owned(),
            End::Failed(reason) => format!(
                "><failure type=\"failure\" message=\"{}\">{}</failure></testcase>",
                attribute(reason.lines().next().unwrap_or_default()),
                content(reason)
            ),
            End::Skipped(reason) => {
                let first = attribute(reason.lines().next().unwrap_or_default());
                format!("><skipped message=\"{first}\"/></testcase>")
            }
        };
        writeln!(text, "{end}").expect("text grows");
    }
    let output = content(&suite.output);
    writeln!(text, "    <system-out>{output}</system-out>\n    <system-err/>").expect("text grows");
    text.push_str("  </testsuite>\n");
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\'', "&apos;").replace('\n', " ")
}

/// Text between tags. Line breaks of ours stay; everything else that XML forbids is gone already.
fn content(text: &str) -> String {
    let allowed = |c: char| if c == '\n' || !c.is_control() { c } else { '\u{fffd}' };
    let text: String = text.chars().map(allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
