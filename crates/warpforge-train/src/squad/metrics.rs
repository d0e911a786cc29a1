//! How well a question is answered, as SQuAD v1.1 defines it: exact match and F1 of the words, in percent.

use std::collections::HashMap;

/// How well questions are answered, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// The share of answers that are right to the word.
    pub exact_match: f64,
    /// The mean over the questions of precision and recall together.
    pub f1: f64,
}

/// The mean over questions, each an answer and the ones that count as right.
pub fn score<'a>(answered: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>) -> Score {
    let (mut sum, mut count) = (Score::default(), 0_u64);
    let most = |of: fn(&str, &str) -> f64, answer: &str, right: &[&str]| {
        right.iter().map(|right| of(answer, right)).fold(0.0, f64::max)
    };
    for (answer, right) in answered {
        sum.exact_match += most(exact_match, answer, &right);
        sum.f1 += most(f1, answer, &right);
        count += 1;
    }
    let percent = |sum: f64| 100.0 * sum / count.max(1) as f64;
    Score { exact_match: percent(sum.exact_match), f1: percent(sum.f1) }
}

/// 1 if both are the same words, else 0.
pub fn exact_match(answer: &str, right: &str) -> f64 {
    f64::from(u8::from(words(answer) == words(right)))
}

/// The harmonic mean of the share of the answer's words that are right and of the right ones that are in the answer.
pub fn f1(answer: &str, right: &str) -> f64 {
    let (answer, right) = (words(answer), words(right));
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &right {
        *left.entry(word).or_default() += 1;
    }
    let mut common = 0_usize;
    for word in &answer {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return 0.0;
    }
    let precision = common as f64 / answer.len() as f64;
    let recall = common as f64 / right.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

/// The words that count: in lower case, without punctuation of ASCII and without articles.
fn words(text: &str) -> Vec<String> {
    let kept: String =
        text.to_lowercase().chars().filter(|letter| !letter.is_ascii_punctuation()).collect();
    let mut spaced = String::with_capacity(kept.len());
    let mut run = String::new();
    // Articles are whole runs of letters and digits; what else there is ends a run but stays.
    for letter in kept.chars() {
        if letter.is_alphanumeric() {
            run.push(letter);
        } else {
            spaced.push_str(unless_article(&run));
            run.clear();
            spaced.push(letter);
        }
    }
    spaced.push_str(unless_article(&run));
    let space = |letter: char| letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter);
    spaced.split(space).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn unless_article(run: &str) -> &str {
    match run {
        "a" | "an" | "the" => " ",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_count_are_left_out() {
        assert_eq!(words("The  \"Red\" Tower, an Ape"), ["red", "tower", "ape"]);
        assert_eq!(words("a—b theatre"), ["—b", "theatre"]);
        assert_eq!(words("the. A!"), [""; 0]);
    }

    #[test]
    fn a_part_of_an_answer_counts_in_part() {
        assert_eq!(exact_match("the red tower", "Red Tower."), 1.0);
        assert_eq!(f1("red red tower", "the red tower stands"), 2.0 / 3.0);
        assert_eq!(f1("blue", "red"), 0.0);
        assert_eq!((exact_match("the", "a"), f1("the", "a")), (1.0, 0.0));
        let both = score([("red", vec!["blue", "the red"]), ("x y", vec!["x"])]);
        assert_eq!(both.exact_match, 50.0);
        assert!((both.f1 - 100.0 * (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    }
}
