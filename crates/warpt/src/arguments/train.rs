//! The arguments of `warpt train`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::run::{Precision, size};

/// `warpt train` and what follows.
#[derive(Debug, Args)]
pub struct TrainArguments {
    /// What to train on
    #[command(subcommand)]
    pub command: TrainCommand,
}

/// What there is to train on.
#[derive(Debug, Subcommand)]
pub enum TrainCommand {
    /// Train BERT to answer questions about texts, and measure F1 and exact match
    Squad(Box<TrainSquadArguments>),
}

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleChoice {
    /// It stays
    Constant,
    /// It falls to zero after the last step
    Linear,
}

/// Options of `warpt train squad`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    warpt train squad --model bert-large-uncased --data squad --epochs 2 --batch-size 8 --out run\n  \
    warpt train squad --out run ... --resume\n\n  \
    warpt export bert --layers 4 --hidden 256 --heads 4 --intermediate 1024 --vocabulary 1000 \\\n      \
    --sequence 128 --batch 16 --programs forward,train-adamw --out programs\n  \
    warpt train squad --programs programs --data made --steps 500 --learning-rate 5e-4 --out run")]
pub struct TrainSquadArguments {
    /// A folder with train.json and dev.json in the form of SQuAD v1.1, and vocab.txt
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Start from this model: a folder with config.json, model.safetensors and vocab.txt, or the name of one in the
    /// Hugging Face cache
    #[arg(long, value_name = "NAME", required_unless_present = "programs")]
    pub model: Option<String>,
    /// Programs that `warpt export bert` wrote, with their weights unless --model has them [default: made for --model]
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// Where checkpoints, losses, metrics and answers go
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Go on from the last checkpoint in --out
    #[arg(long)]
    pub resume: bool,
    /// Updates in all
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "epochs")]
    pub steps: Option<u64>,
    /// Passes over the questions
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    pub epochs: u64,
    /// Rows in a batch of the programs that are made
    #[arg(long, value_name = "COUNT", default_value_t = 8, conflicts_with = "programs")]
    pub batch_size: u32,
    /// Tokens in a row of the programs that are made
    #[arg(long, value_name = "COUNT", default_value_t = 384, conflicts_with = "programs")]
    pub seq: u32,
    /// Batches whose mean gradient makes one update
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub accumulate: u64,
    /// After the warm-up
    #[arg(long, value_name = "RATE", default_value_t = 3e-5)]
    pub learning_rate: f64,
    /// How it goes from there
    #[arg(long, value_enum, default_value = "linear")]
    pub schedule: ScheduleChoice,
    /// Updates over which it rises at first
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub warmup_steps: u64,
    /// Of the order of the questions, and of a head that the model lacks
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u32,
    /// How exactly products are computed; weights and updates stay f32
    #[arg(long, value_enum, default_value = "f32")]
    pub precision: Precision,
    /// Threads [default: one for each processor this process may use]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Refuse programs that need more memory, such as 12GiB [default: 80% of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Write a checkpoint after so many updates; 0: only at the end
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub checkpoint_every: u64,
    /// Keep so many checkpoints
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    pub keep: usize,
    /// Tokens that two rows of one text share
    #[arg(long, value_name = "COUNT", default_value_t = 128)]
    pub stride: u32,
    /// The most tokens of a question
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub longest_question: u32,
    /// The most tokens of an answer
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    pub longest_answer: u32,
    /// So many of the likeliest beginnings and ends of an answer are looked at
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub best: u32,
    /// Ask only so many questions of dev.json
    #[arg(long, value_name = "COUNT")]
    pub limit_dev: Option<usize>,
    /// Do not ask any questions at the end
    #[arg(long, conflicts_with = "limit_dev")]
    pub no_evaluation: bool,
    /// Print JSON instead of a page
    #[arg(long)]
    pub json: bool,
    /// The Python with the warpforge package, which makes the programs [default: python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
}
