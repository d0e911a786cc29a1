//! The lists that ARCHITECTURE.md holds for people and for tidy alike: fenced blocks whose language is the list's
//! name.

use anyhow::{Context, bail};

pub(super) const PATH: &str = "ARCHITECTURE.md";

/// The lines of the fenced block with that name, without empty ones and without `# comments`.
pub(super) fn block(text: &str, name: &str) -> anyhow::Result<Vec<String>> {
    let opening = format!("```{name}");
    let mut lines = text.lines().skip_while(|line| line.trim_end() != opening);
    lines.next().with_context(|| format!("{PATH} has no fenced block `{name}`"))?;
    let mut content = Vec::new();
    for line in lines {
        if line.starts_with("```") {
            return Ok(content);
        }
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            content.push(line.to_owned());
        }
    }
    bail!("{PATH}: the fenced block `{name}` does not end")
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn reads_the_named_block() {
        let text = "text\n```arrows\na -> b\n\n# why\nc -> d  # so\n```\n```unsafe\nx\n";
        assert_eq!(block(text, "arrows").unwrap(), ["a -> b", "c -> d"]);
        assert!(block(text, "unsafe").unwrap_err().to_string().contains("does not end"));
        assert!(block(text, "other").is_err());
    }
}
