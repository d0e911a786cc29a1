//! Descriptors of tensors in memory: element type, dimensions and layout. A descriptor never changes after it was
//! made, so it is shared freely between threads; what it says about itself is read once.
#![allow(unsafe_code)]

use crate::data_type::DataType;
use crate::error::{OnednnError, check, invalid};
use crate::sys;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The most dimensions a tensor can have.
pub const MAX_RANK: usize = sys::DNNL_MAX_NDIMS as usize;

/// The library's own dimension array.
pub(crate) type Dimensions = [i64; MAX_RANK];

/// Type, dimensions and layout of a tensor.
#[derive(Clone)]
pub struct MemoryDesc(Arc<Inner>);

struct Inner {
    raw: *mut sys::dnnl_memory_desc,
    data_type: Option<DataType>,
    dims: Vec<usize>,
    bytes: usize,
    layout: Layout,
}

// SAFETY: the descriptor behind the pointer is never changed after creation and is freed once, by the last owner.
unsafe impl Send for Inner {}
// SAFETY: as above; every call that takes it only reads.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_memory_desc_destroy(self.raw) };
    }
}

/// How elements lie.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Layout {
    /// The library chooses.
    Any,
    /// One stride for each dimension, in elements.
    Strided(Vec<usize>),
    /// Strides, and the place of the first element in the whole tensor's memory.
    Part(Vec<usize>, usize),
    /// Strides of blocks, then the blocks inside as (dimension, size).
    Blocked(Vec<usize>, Vec<(usize, usize)>),
    /// Known to the library alone.
    Opaque,
}

impl MemoryDesc {
    /// Elements at multiples of `strides`, which count elements. Dimensions may lie in any order and have gaps between
    /// them; strides that make elements overlap are refused, except that the stride of a dimension of size 1 is free.
    pub fn strided(
        data_type: DataType,
        dims: &[usize],
        strides: &[usize],
    ) -> Result<Self, OnednnError> {
        const CALL: &str = "MemoryDesc::strided";
        let request = || format!("{}{dims:?} strides {strides:?}", data_type.name());
        if strides.len() != dims.len() {
            return Err(invalid(CALL, "as many strides as dimensions are needed", request()));
        }
        let extent = extent(dims, strides);
        if extent
            .and_then(|elements| elements.checked_mul(data_type.bits()))
            .is_none_or(|bits| bits > isize::MAX as usize)
        {
            return Err(invalid(CALL, "the tensor is larger than the address space", request()));
        }
        let (Some(dimensions), Some(stride_array)) = (array(dims), array(strides)) else {
            return Err(invalid(
                CALL,
                format!("at least 1 and at most {MAX_RANK} dimensions"),
                request(),
            ));
        };
        let mut raw = null_mut();
        // SAFETY: both arrays have MAX_RANK entries and the rank is at most that.
        let status = unsafe {
            sys::dnnl_memory_desc_create_with_strides(
                &mut raw,
                dims.len() as c_int,
                dimensions.as_ptr(),
                data_type.code(),
                stride_array.as_ptr(),
            )
        };
        check("dnnl_memory_desc_create_with_strides", status, request)?;
        Self::own(raw)
    }

    /// The last dimension lies densest, without gaps.
    pub fn row_major(data_type: DataType, dims: &[usize]) -> Result<Self, OnednnError> {
        let mut strides = vec![1_usize; dims.len()];
        for index in (1..dims.len()).rev() {
            // An overflow of the product is seen, and refused, by the check of the extent.
            strides[index - 1] = strides[index].saturating_mul(dims[index].max(1));
        }
        Self::strided(data_type, dims, &strides)
    }

    /// The layout is the library's choice, to be asked of the primitive with [`crate::Primitive::descriptor`].
    pub fn any(data_type: DataType, dims: &[usize]) -> Result<Self, OnednnError> {
        const CALL: &str = "MemoryDesc::any";
        let request = || format!("{}{dims:?}", data_type.name());
        let bits =
            dims.iter().try_fold(data_type.bits(), |bits, dim| bits.checked_mul((*dim).max(1)));
        if bits.is_none_or(|bits| bits > isize::MAX as usize) {
            return Err(invalid(CALL, "the tensor is larger than the address space", request()));
        }
        let Some(dimensions) = array(dims) else {
            return Err(invalid(
                CALL,
                format!("at least 1 and at most {MAX_RANK} dimensions"),
                request(),
            ));
        };
        let mut raw = null_mut();
        // SAFETY: the array has MAX_RANK entries and the rank is at most that.
        let status = unsafe {
            sys::dnnl_memory_desc_create_with_tag(
                &mut raw,
                dims.len() as c_int,
                dimensions.as_ptr(),
                data_type.code(),
                sys::dnnl_format_tag_any,
            )
        };
        check("dnnl_memory_desc_create_with_tag", status, request)?;
        Self::own(raw)
    }

    /// The part of this tensor that starts at `offsets`; it shares the whole tensor's memory, so a pointer given
    /// for it is that of the whole tensor.
    pub fn submemory(&self, dims: &[usize], offsets: &[usize]) -> Result<Self, OnednnError> {
        const CALL: &str = "MemoryDesc::submemory";
        let request = || format!("{dims:?} at {offsets:?} of {self:?}");
        let inside = |((dim, offset), whole): ((&usize, &usize), &usize)| {
            dim.checked_add(*offset).is_some_and(|end| end <= *whole)
        };
        if dims.len() != self.0.dims.len()
            || offsets.len() != dims.len()
            || !dims.iter().zip(offsets).zip(&self.0.dims).all(inside)
        {
            return Err(invalid(CALL, "the part does not lie inside", request()));
        }
        let (dimensions, offsets) = (full_array(dims), full_array(offsets));
        let mut raw = null_mut();
        // SAFETY: the arrays have MAX_RANK entries, and the parent has that rank.
        let status = unsafe {
            sys::dnnl_memory_desc_create_submemory(
                &mut raw,
                self.raw(),
                dimensions.as_ptr(),
                offsets.as_ptr(),
            )
        };
        check("dnnl_memory_desc_create_submemory", status, request)?;
        Self::own(raw)
    }

    /// The same elements under other dimensions, where the layout allows it without moving any.
    pub fn reshaped(&self, dims: &[usize]) -> Result<Self, OnednnError> {
        let request = || format!("{self:?} as {dims:?}");
        let Some(dimensions) = array(dims) else {
            let reason = format!("at least 1 and at most {MAX_RANK} dimensions");
            return Err(invalid("MemoryDesc::reshaped", reason, request()));
        };
        let mut raw = null_mut();
        // SAFETY: the array has MAX_RANK entries and the rank is at most that.
        let status = unsafe {
            sys::dnnl_memory_desc_reshape(
                &mut raw,
                self.raw(),
                dims.len() as c_int,
                dimensions.as_ptr(),
            )
        };
        check("dnnl_memory_desc_reshape", status, request)?;
        Self::own(raw)
    }

    /// The same elements with their dimensions in another order: dimension `index` of this one is dimension
    /// `permutation[index]` of the result.
    pub fn permuted(&self, permutation: &[usize]) -> Result<Self, OnednnError> {
        let request = || format!("{self:?} permuted by {permutation:?}");
        let mut seen = [false; MAX_RANK];
        let fresh = |index: &usize| {
            *index < self.0.dims.len() && !std::mem::replace(&mut seen[*index], true)
        };
        if permutation.len() != self.0.dims.len() || !permutation.iter().all(fresh) {
            return Err(invalid(
                "MemoryDesc::permuted",
                "not a permutation of the dimensions",
                request(),
            ));
        }
        let order: Vec<c_int> = permutation.iter().map(|index| *index as c_int).collect();
        let mut raw = null_mut();
        // SAFETY: the permutation has as many entries as the descriptor has dimensions.
        let status =
            unsafe { sys::dnnl_memory_desc_permute_axes(&mut raw, self.raw(), order.as_ptr()) };
        check("dnnl_memory_desc_permute_axes", status, request)?;
        Self::own(raw)
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.0.dims
    }

    /// The element type; f32 stands for none, which only an empty descriptor of the library has.
    pub fn data_type(&self) -> DataType {
        self.0.data_type.unwrap_or(DataType::F32)
    }

    /// Bytes of memory from the first element of a tensor of this layout to the end of its last (or to the end of
    /// what the library keeps behind them); 0 while the layout is still the library's choice.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Whether the layout is still the library's choice.
    pub fn is_any(&self) -> bool {
        self.0.layout == Layout::Any
    }

    /// The strides, in elements, of a layout that has nothing else: no blocks, no data besides the elements.
    pub fn is_strided(&self) -> Option<Vec<usize>> {
        match &self.0.layout {
            Layout::Strided(strides) => Some(strides.clone()),
            _ => None,
        }
    }

    pub(crate) fn raw(&self) -> *const sys::dnnl_memory_desc {
        self.0.raw
    }

    /// A copy of a descriptor that the library owns; None for one that describes nothing.
    pub(crate) fn copied(from: *const sys::dnnl_memory_desc) -> Result<Option<Self>, OnednnError> {
        if from.is_null() {
            return Ok(None);
        }
        let mut raw = null_mut();
        // SAFETY: a descriptor that the library handed out and that lives during this call.
        let status = unsafe { sys::dnnl_memory_desc_clone(&mut raw, from) };
        check("dnnl_memory_desc_clone", status, String::new)?;
        let copy = Self::own(raw)?;
        Ok((!copy.0.dims.is_empty()).then_some(copy))
    }

    /// Takes over a descriptor and reads what it says.
    fn own(raw: *mut sys::dnnl_memory_desc) -> Result<Self, OnednnError> {
        // Owned from here on, so that an error below frees it.
        let mut inner =
            Inner { raw, data_type: None, dims: Vec::new(), bytes: 0, layout: Layout::Opaque };
        let rank = number(raw, sys::dnnl_query_ndims_s32)? as usize;
        inner.data_type = DataType::from_code(number(raw, sys::dnnl_query_data_type)?);
        inner.dims = numbers(raw, sys::dnnl_query_dims, rank)?;
        // SAFETY: a valid descriptor.
        inner.bytes = unsafe { sys::dnnl_memory_desc_get_size(raw) };
        if rank > 0 {
            inner.layout = layout(&inner, rank)?;
            // The library counts a gap behind the last element and leaves out what lies before a part.
            let (strides, offset) = match &inner.layout {
                Layout::Strided(strides) => (strides, 0),
                Layout::Part(strides, offset) => (strides, *offset),
                _ => return Ok(MemoryDesc(Arc::new(inner))),
            };
            let bits = inner.data_type.map_or(0, DataType::bits);
            let elements =
                extent(&inner.dims, strides).map_or(0, |elements| elements.saturating_add(offset));
            inner.bytes = elements.saturating_mul(bits).div_ceil(8);
        }
        Ok(MemoryDesc(Arc::new(inner)))
    }
}

/// The raw descriptor, or none.
pub(crate) fn optional(descriptor: Option<&MemoryDesc>) -> *const sys::dnnl_memory_desc {
    descriptor.map_or(null(), MemoryDesc::raw)
}

fn layout(inner: &Inner, rank: usize) -> Result<Layout, OnednnError> {
    let kind = number(inner.raw, sys::dnnl_query_format_kind)?;
    if kind == sys::dnnl_format_kind_any {
        return Ok(Layout::Any);
    }
    if kind != sys::dnnl_blocked {
        return Ok(Layout::Opaque);
    }
    let strides = numbers(inner.raw, sys::dnnl_query_strides, rank)?;
    let blocks = number(inner.raw, sys::dnnl_query_inner_nblks_s32)? as usize;
    let sizes = numbers(inner.raw, sys::dnnl_query_inner_blks, blocks)?;
    let indices = numbers(inner.raw, sys::dnnl_query_inner_idxs, blocks)?;
    let offset = wide_number(inner.raw, sys::dnnl_query_submemory_offset_s64)?;
    if blocks == 0 && offset > 0 {
        return Ok(Layout::Part(strides, usize::try_from(offset).unwrap_or(0)));
    }
    if blocks == 0 && has_nothing_else(inner, &strides) {
        return Ok(Layout::Strided(strides));
    }
    Ok(Layout::Blocked(strides, indices.into_iter().zip(sizes).collect()))
}

/// Whether these strides are all there is to the layout: the library may append sums of weights to the elements.
fn has_nothing_else(inner: &Inner, strides: &[usize]) -> bool {
    let (Some(data_type), Some(dims), Some(strides)) =
        (inner.data_type, array(&inner.dims), array(strides))
    else {
        return false;
    };
    let mut plain = null_mut();
    // SAFETY: arrays of full length; the new descriptor is compared and freed here.
    unsafe {
        let rank = inner.dims.len() as c_int;
        let code = data_type.code();
        let status = sys::dnnl_memory_desc_create_with_strides(
            &mut plain,
            rank,
            dims.as_ptr(),
            code,
            strides.as_ptr(),
        );
        if status != sys::dnnl_success {
            return false;
        }
        let equal = sys::dnnl_memory_desc_equal(plain, inner.raw) != 0;
        sys::dnnl_memory_desc_destroy(plain);
        equal
    }
}

/// How many elements lie between the first and one past the last; None when that overflows.
fn extent(dims: &[usize], strides: &[usize]) -> Option<usize> {
    if dims.contains(&0) {
        // Nothing is there, but the dimensions must still be numbers the library can multiply.
        dims.iter().try_fold(1_usize, |product, dim| product.checked_mul((*dim).max(1)))?;
        return Some(0);
    }
    dims.iter()
        .zip(strides)
        .try_fold(1_usize, |sum, (dim, stride)| sum.checked_add((dim - 1).checked_mul(*stride)?))
}

/// The library's array; None for a rank it does not take.
pub(crate) fn array(values: &[usize]) -> Option<Dimensions> {
    (1..=MAX_RANK).contains(&values.len()).then(|| full_array(values))
}

/// As [`array()`], for values whose number is known to be small enough.
fn full_array(values: &[usize]) -> Dimensions {
    let mut array = [0; MAX_RANK];
    for (entry, value) in array.iter_mut().zip(values) {
        *entry = i64::try_from(*value).unwrap_or(i64::MAX);
    }
    array
}

fn query<T>(
    raw: *const sys::dnnl_memory_desc,
    what: c_int,
    result: &mut T,
) -> Result<(), OnednnError> {
    // SAFETY: each caller passes the type that the query writes.
    let status =
        unsafe { sys::dnnl_memory_desc_query(raw, what, (result as *mut T).cast::<c_void>()) };
    check("dnnl_memory_desc_query", status, || format!("query {what}"))
}

fn number(raw: *const sys::dnnl_memory_desc, what: c_int) -> Result<c_int, OnednnError> {
    let mut result: c_int = 0;
    query(raw, what, &mut result)?;
    Ok(result)
}

fn wide_number(raw: *const sys::dnnl_memory_desc, what: c_int) -> Result<i64, OnednnError> {
    let mut result = 0_i64;
    query(raw, what, &mut result)?;
    Ok(result)
}

fn numbers(
    raw: *const sys::dnnl_memory_desc,
    what: c_int,
    count: usize,
) -> Result<Vec<usize>, OnednnError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut array: *const i64 = null();
    query(raw, what, &mut array)?;
    if array.is_null() {
        return Err(invalid("dnnl_memory_desc_query", "no array was given", what));
    }
    // SAFETY: the library answers with an array inside the descriptor, which has at least `count` entries.
    let values = unsafe { std::slice::from_raw_parts(array, count.min(MAX_RANK)) };
    Ok(values.iter().map(|value| usize::try_from(*value).unwrap_or(usize::MAX)).collect())
}

impl PartialEq for MemoryDesc {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: two valid descriptors, only read.
        Arc::ptr_eq(&self.0, &other.0)
            || unsafe { sys::dnnl_memory_desc_equal(self.raw(), other.raw()) != 0 }
    }
}

impl Eq for MemoryDesc {}

/// `f32[384, 1024]{1024, 1}`; blocks follow as `x16b`, where b is the second dimension.
impl fmt::Debug for MemoryDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.0.data_type.map_or("none", DataType::name), self.0.dims)?;
        let list =
            |strides: &[usize]| strides.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        match &self.0.layout {
            Layout::Any => f.write_str("{any}"),
            Layout::Opaque => f.write_str("{opaque}"),
            Layout::Strided(strides) => write!(f, "{{{}}}", list(strides)),
            Layout::Part(strides, offset) => write!(f, "{{{} at {offset}}}", list(strides)),
            Layout::Blocked(strides, blocks) => {
                write!(f, "{{{}", list(strides))?;
                for (index, size) in blocks {
                    write!(f, "x{size}{}", (b'a' + *index as u8) as char)?;
                }
                f.write_str("}")
            }
        }
    }
}
