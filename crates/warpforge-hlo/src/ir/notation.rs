//! The short notation for what the dimensions of a convolution mean: `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`.

use super::ConvolutionDimensions;

/// What the letters of one of the three lists mean: `(first letter, second letter)`.
type Letters = (char, char);

const INPUT: Letters = ('b', 'f');
const KERNEL: Letters = ('i', 'o');

/// One of the three lists: where the two letters and the numbers 0, 1, ... stand.
type Places = (i64, i64, Vec<i64>);

impl ConvolutionDimensions {
    /// Reads the notation; the message says what is wrong.
    pub fn from_notation(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected dimension numbers such as [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], found {text}"
            )
        };
        let (operands, output) = text.split_once("->").ok_or_else(wrong)?;
        let (input, kernel) =
            operands.split_once("]x").or_else(|| operands.split_once("] x")).ok_or_else(wrong)?;
        let input = places(input, INPUT).ok_or_else(wrong)?;
        let kernel = places(kernel, KERNEL).ok_or_else(wrong)?;
        let output = places(output, INPUT).ok_or_else(wrong)?;
        Ok(Self {
            input_batch: input.0,
            input_feature: input.1,
            input_spatial: input.2,
            kernel_input_feature: kernel.0,
            kernel_output_feature: kernel.1,
            kernel_spatial: kernel.2,
            output_batch: output.0,
            output_feature: output.1,
            output_spatial: output.2,
        })
    }

    /// The notation; none where the dimensions are not a permutation, which the verifier refuses.
    pub fn notation(&self) -> Option<String> {
        let input = letters(self.input_batch, self.input_feature, &self.input_spatial, INPUT)?;
        let kernel = letters(
            self.kernel_input_feature,
            self.kernel_output_feature,
            &self.kernel_spatial,
            KERNEL,
        )?;
        let output = letters(self.output_batch, self.output_feature, &self.output_spatial, INPUT)?;
        Some(format!("{input}x{kernel}->{output}"))
    }
}

fn places(text: &str, letters: Letters) -> Option<Places> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let (mut first, mut second, mut spatial) = (None, None, Vec::new());
    for (place, word) in inner.split(',').map(str::trim).enumerate() {
        let place = place as i64;
        if word.len() == 1 && word.starts_with(letters.0) {
            first = Some(place);
        } else if word.len() == 1 && word.starts_with(letters.1) {
            second = Some(place);
        } else if word != "?" {
            spatial.push((word.parse::<usize>().ok()?, place));
        }
    }
    spatial.sort_unstable();
    let in_order = spatial.iter().enumerate().all(|(index, (number, _))| index == *number);
    in_order.then_some((first?, second?, spatial.into_iter().map(|(_, place)| place).collect()))
}

fn letters(first: i64, second: i64, spatial: &[i64], letters: Letters) -> Option<String> {
    let mut words = vec![String::new(); spatial.len() + 2];
    *words.get_mut(usize::try_from(first).ok()?)? = letters.0.to_string();
    *words.get_mut(usize::try_from(second).ok()?)? = letters.1.to_string();
    for (index, place) in spatial.iter().enumerate() {
        *words.get_mut(usize::try_from(*place).ok()?)? = index.to_string();
    }
    words.iter().all(|word| !word.is_empty()).then(|| format!("[{}]", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_reads_back() {
        for text in [
            "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
            "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
            "[f, b]x[i, o]->[b, f]",
        ] {
            let dimensions = ConvolutionDimensions::from_notation(text).unwrap();
            assert_eq!(dimensions.notation().as_deref(), Some(text));
        }
        let spaced =
            ConvolutionDimensions::from_notation("[b,1,0,f] x [0,1,i,o] -> [b,0,1,f]").unwrap();
        assert_eq!(spaced.input_spatial, [2, 1]);
    }

    #[test]
    fn what_is_not_a_permutation_is_refused() {
        for text in [
            "",
            "[b, f]",
            "[b, f]x[i, o]",
            "[b, b]x[i, o]->[b, f]",
            "[b, f, 1]x[i, o, 0]->[b, f, 0]",
        ] {
            assert!(ConvolutionDimensions::from_notation(text).is_err(), "{text}");
        }
        assert_eq!(ConvolutionDimensions::default().notation(), None);
    }
}
