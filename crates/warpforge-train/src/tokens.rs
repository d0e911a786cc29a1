//! WordPiece tokens of BERT, by the `tokenizers` crate, with the characters each one comes from.

use std::path::Path;

use ahash::AHashMap;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{AddedToken, Tokenizer};
use warpforge_golden::read_text;

use crate::TrainError;
use crate::error::wrong;

/// The largest vocabulary that is read, in bytes and in tokens.
const VOCABULARY_LIMIT: u64 = 64 << 20;
const MOST_TOKENS: usize = 4_000_000;

const SPECIAL: [&str; 5] = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"];

/// A token and the characters of the text it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its number in the vocabulary.
    pub id: u32,
    /// Its first character.
    pub start: u32,
    /// The one after its last.
    pub end: u32,
}

/// A vocabulary, and how text is cut by it.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    tokenizer: Tokenizer,
    size: usize,
    /// The numbers of `[CLS]`, `[SEP]` and `[PAD]`.
    pub(crate) classify: u32,
    pub(crate) separate: u32,
    pub(crate) pad: u32,
}

impl Vocabulary {
    /// Reads `vocab.txt`: one token a line, its number the line's.
    pub fn open(path: &Path, lowercase: bool) -> Result<Self, TrainError> {
        let text = read_text(path, VOCABULARY_LIMIT)?;
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        Self::new(&lines, lowercase).map_err(|reason| wrong(path, reason))
    }

    /// From tokens, in the order of their numbers; the reason where they make no vocabulary.
    pub fn new(tokens: &[&str], lowercase: bool) -> Result<Self, String> {
        if tokens.len() > MOST_TOKENS {
            return Err(format!("{} tokens are more than {MOST_TOKENS}", tokens.len()));
        }
        let numbered = tokens.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), id));
        let vocabulary: AHashMap<String, u32> = numbered.collect();
        let special = |name: &str| {
            let found = vocabulary.get(name).copied();
            found.ok_or_else(|| format!("no vocabulary of BERT: it has no {name}"))
        };
        let (classify, separate, pad) = (special("[CLS]")?, special("[SEP]")?, special("[PAD]")?);
        special("[UNK]")?;
        let known: Vec<AddedToken> = SPECIAL
            .iter()
            .filter(|name| vocabulary.contains_key(**name))
            .map(|name| AddedToken::from(*name, true))
            .collect();
        let words = WordPiece::builder().vocab(vocabulary).build();
        let words = words.map_err(|error| error.to_string())?;
        let mut tokenizer = Tokenizer::new(words);
        let normalizer = BertNormalizer::new(true, true, None, lowercase);
        tokenizer.with_normalizer(Some(normalizer)).map_err(|error| error.to_string())?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        tokenizer.add_special_tokens(known).map_err(|error| error.to_string())?;
        Ok(Self { tokenizer, size: tokens.len(), classify, separate, pad })
    }

    /// How many tokens it has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The tokens of a text.
    pub fn tokens(&self, text: &str) -> Result<Vec<Token>, TrainError> {
        let encoded = self.tokenizer.encode_char_offsets(text, false);
        let encoded = encoded.map_err(|error| TrainError::Settings(error.to_string()))?;
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let each = encoded.get_ids().iter().zip(encoded.get_offsets());
        Ok(each
            .map(|(id, (start, end))| Token { id: *id, start: place(*start), end: place(*end) })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_into_known_pieces() {
        let words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "token", "##ize", "##d", "a", "!"];
        let vocabulary = Vocabulary::new(&words, true).unwrap();
        let token = |id, start, end| Token { id, start, end };
        assert_eq!(
            vocabulary.tokens("Tokenized  á!xyz").unwrap(),
            [
                token(4, 0, 5),
                token(5, 5, 8),
                token(6, 8, 9),
                token(7, 11, 12),
                token(8, 12, 13),
                token(1, 13, 16)
            ]
        );
        assert_eq!(vocabulary.size(), 9);
        let missing = Vocabulary::new(&words[..2], true).unwrap_err();
        assert_eq!(missing, "no vocabulary of BERT: it has no [CLS]");
    }
}
