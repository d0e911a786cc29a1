//! The ops: one variant each, or one for a family that differs only in the function computed.

use crate::attribute::{Attribute, Attributes, Dense};

use super::dimensions::{
    Channel, Convolution, CustomCall, DotGeneral, Gather, Group, Padding, Precision, Scatter,
    Window,
};

/// Defines an enumeration whose variants have names in programs.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),+ }

        impl $name {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in a program.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

named! {
    /// Ops on each element of one tensor.
    Unary {
        Abs = "stablehlo.abs",
        Cbrt = "stablehlo.cbrt",
        Ceil = "stablehlo.ceil",
        CountLeadingZeros = "stablehlo.count_leading_zeros",
        Cosine = "stablehlo.cosine",
        Exponential = "stablehlo.exponential",
        ExponentialMinusOne = "stablehlo.exponential_minus_one",
        Floor = "stablehlo.floor",
        Imag = "stablehlo.imag",
        IsFinite = "stablehlo.is_finite",
        Log = "stablehlo.log",
        LogPlusOne = "stablehlo.log_plus_one",
        Logistic = "stablehlo.logistic",
        Negate = "stablehlo.negate",
        Not = "stablehlo.not",
        PopulationCount = "stablehlo.popcnt",
        Real = "stablehlo.real",
        RoundNearestAwayFromZero = "stablehlo.round_nearest_afz",
        RoundNearestEven = "stablehlo.round_nearest_even",
        Rsqrt = "stablehlo.rsqrt",
        Sign = "stablehlo.sign",
        Sine = "stablehlo.sine",
        Sqrt = "stablehlo.sqrt",
        Tan = "stablehlo.tan",
        Tanh = "stablehlo.tanh",
        ChloAcos = "chlo.acos",
        ChloAcosh = "chlo.acosh",
        ChloAsin = "chlo.asin",
        ChloAsinh = "chlo.asinh",
        ChloAtan = "chlo.atan",
        ChloAtanh = "chlo.atanh",
        ChloBesselI1e = "chlo.bessel_i1e",
        ChloConj = "chlo.conj",
        ChloCosh = "chlo.cosh",
        ChloDigamma = "chlo.digamma",
        ChloErf = "chlo.erf",
        ChloErfInv = "chlo.erf_inv",
        ChloErfc = "chlo.erfc",
        ChloIsInf = "chlo.is_inf",
        ChloIsNegInf = "chlo.is_neg_inf",
        ChloIsPosInf = "chlo.is_pos_inf",
        ChloLgamma = "chlo.lgamma",
        ChloSinh = "chlo.sinh",
        ChloSquare = "chlo.square",
        ChloTan = "chlo.tan",
    }
}

named! {
    /// Ops on each pair of elements of two tensors of one shape.
    Binary {
        Add = "stablehlo.add",
        And = "stablehlo.and",
        Atan2 = "stablehlo.atan2",
        Complex = "stablehlo.complex",
        Divide = "stablehlo.divide",
        Maximum = "stablehlo.maximum",
        Minimum = "stablehlo.minimum",
        Multiply = "stablehlo.multiply",
        Or = "stablehlo.or",
        Power = "stablehlo.power",
        Remainder = "stablehlo.remainder",
        ShiftLeft = "stablehlo.shift_left",
        ShiftRightArithmetic = "stablehlo.shift_right_arithmetic",
        ShiftRightLogical = "stablehlo.shift_right_logical",
        Subtract = "stablehlo.subtract",
        Xor = "stablehlo.xor",
        ChloNextAfter = "chlo.next_after",
        ChloPolygamma = "chlo.polygamma",
        ChloZeta = "chlo.zeta",
    }
}

impl Binary {
    /// Whether the order of its operands is free, as a reduction may ask of what it combines by.
    pub fn commutes(self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::And
                | Self::Maximum
                | Self::Minimum
                | Self::Multiply
                | Self::Or
                | Self::Xor
        )
    }
}

named! {
    /// Which comparison.
    Direction { Eq = "EQ", Ne = "NE", Ge = "GE", Gt = "GT", Le = "LE", Lt = "LT" }
}

named! {
    /// In which order numbers are compared.
    CompareKind { Float = "FLOAT", TotalOrder = "TOTALORDER", Signed = "SIGNED", Unsigned = "UNSIGNED" }
}

named! {
    /// Which Fourier transform.
    FftKind { Fft = "FFT", Ifft = "IFFT", Rfft = "RFFT", Irfft = "IRFFT" }
}

named! {
    /// Whether the matrix of a triangular solve is transposed.
    Transpose { No = "NO_TRANSPOSE", Yes = "TRANSPOSE", Adjoint = "ADJOINT" }
}

named! {
    /// How random numbers are distributed.
    Distribution { Uniform = "UNIFORM", Normal = "NORMAL" }
}

named! {
    /// How random bits are made.
    RandomAlgorithm { Default = "DEFAULT", Philox = "PHILOX", ThreeFry = "THREE_FRY" }
}

/// What an op does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum OpKind {
    Unary(Unary),
    Binary(Binary),
    AfterAll,
    AllGather {
        dimension: i64,
        group: Group,
    },
    AllReduce {
        group: Group,
    },
    AllToAll {
        split_dimension: i64,
        concat_dimension: i64,
        split_count: i64,
        group: Group,
    },
    BatchNormGrad {
        epsilon: f32,
        feature_index: i64,
    },
    BatchNormInference {
        epsilon: f32,
        feature_index: i64,
    },
    BatchNormTraining {
        epsilon: f32,
        feature_index: i64,
    },
    BitcastConvert,
    Broadcast {
        sizes: Vec<i64>,
    },
    BroadcastInDim {
        dimensions: Vec<i64>,
    },
    Call {
        callee: String,
    },
    Case,
    Cholesky {
        lower: bool,
    },
    Clamp,
    CollectiveBroadcast {
        group: Group,
    },
    CollectivePermute {
        pairs: Vec<(i64, i64)>,
        channel: Option<Channel>,
    },
    Compare {
        direction: Direction,
        kind: Option<CompareKind>,
    },
    Composite {
        name: String,
        attributes: Attributes,
        decomposition: String,
        version: i64,
    },
    Concatenate {
        dimension: i64,
    },
    Constant(Dense),
    Convert,
    Convolution(Box<Convolution>),
    CreateToken,
    CustomCall(Box<CustomCall>),
    Dot {
        precision: Vec<Precision>,
    },
    DotGeneral(Box<DotGeneral>),
    DynamicBroadcastInDim {
        dimensions: Vec<i64>,
        expanding: Option<Vec<i64>>,
        nonexpanding: Option<Vec<i64>>,
    },
    DynamicConv(Box<Convolution>),
    DynamicGather(Box<Gather>),
    DynamicIota {
        dimension: i64,
    },
    DynamicPad,
    DynamicReshape,
    DynamicSlice {
        sizes: Vec<i64>,
    },
    DynamicUpdateSlice,
    Einsum {
        config: String,
    },
    Fft {
        kind: FftKind,
        length: Vec<i64>,
    },
    Gather(Box<Gather>),
    GetDimensionSize {
        dimension: i64,
    },
    GetTupleElement {
        index: i64,
    },
    If,
    Infeed {
        config: Vec<u8>,
        layout: Option<Attribute>,
    },
    Iota {
        dimension: i64,
    },
    Map {
        dimensions: Vec<i64>,
    },
    OptimizationBarrier,
    Outfeed {
        config: Vec<u8>,
    },
    Pad(Box<Padding>),
    PartitionId,
    RealDynamicSlice,
    Recv {
        channel: Channel,
        host_transfer: bool,
        pairs: Vec<(i64, i64)>,
    },
    Reduce {
        dimensions: Vec<i64>,
    },
    ReducePrecision {
        exponent_bits: i64,
        mantissa_bits: i64,
    },
    ReduceScatter {
        dimension: i64,
        group: Group,
    },
    ReduceWindow(Box<Window>),
    ReplicaId,
    Reshape,
    /// Ends a region of an op.
    Return,
    /// Ends a function.
    FunctionReturn,
    Reverse {
        dimensions: Vec<i64>,
    },
    Rng {
        distribution: Distribution,
    },
    RngBitGenerator {
        algorithm: RandomAlgorithm,
    },
    Scatter(Box<Scatter>),
    Select,
    SelectAndScatter(Box<Window>),
    Send {
        channel: Channel,
        host_transfer: bool,
        pairs: Vec<(i64, i64)>,
    },
    SetDimensionSize {
        dimension: i64,
    },
    Slice {
        start: Vec<i64>,
        limit: Vec<i64>,
        strides: Vec<i64>,
    },
    Sort {
        dimension: i64,
        stable: bool,
    },
    TorchIndexSelect {
        dimension: i64,
        batch_dimensions: i64,
    },
    Transpose {
        permutation: Vec<i64>,
    },
    TriangularSolve {
        left_side: bool,
        lower: bool,
        unit_diagonal: bool,
        transpose: Transpose,
    },
    Tuple,
    UnaryEinsum {
        config: String,
    },
    UniformDequantize,
    UniformQuantize,
    While,
    ChloTopK {
        k: i64,
        largest: bool,
    },
    /// Other ops of the `chlo` dialect, by name, with their attributes as written.
    Chlo {
        name: String,
        attributes: Attributes,
    },
}

impl OpKind {
    /// Whether it hands data to others, or waits for theirs: the host, or other processes.
    pub fn exchanges(&self) -> bool {
        matches!(
            self,
            Self::Infeed { .. }
                | Self::Outfeed { .. }
                | Self::Send { .. }
                | Self::Recv { .. }
                | Self::AllGather { .. }
                | Self::AllReduce { .. }
                | Self::AllToAll { .. }
                | Self::CollectiveBroadcast { .. }
                | Self::CollectivePermute { .. }
                | Self::ReduceScatter { .. }
        )
    }
}
