//! What a case expects of tags: how much of the time on CPU of one processor, or of all, has a tag or one below it.

use serde::Deserialize;
use serde_json::Value;

/// So much of a form's time on CPU is to have a tag.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTag {
    pub path: String,
    /// On this processor alone; none: on all together.
    pub processor: Option<u64>,
    #[serde(default)]
    pub least: f64,
    #[serde(default = "all")]
    pub most: f64,
}

fn all() -> f64 {
    1.0
}

impl ExpectedTag {
    /// What is not so, by the JSON report's `tags`.
    pub fn problem(&self, form: &str, tags: &Value) -> Option<String> {
        let share = self.share(tags);
        let where_it_is = match self.processor {
            Some(processor) => format!(" of processor {processor}"),
            None => String::new(),
        };
        (!(self.least..=self.most).contains(&share)).then(|| {
            format!(
                "{form}: the tag {:?} has {share:.2} of the time on CPU{where_it_is}, not {} to {}",
                self.path, self.least, self.most
            )
        })
    }

    fn share(&self, tags: &Value) -> f64 {
        let mut processors = tags["processors"].as_array().into_iter().flatten();
        let of = match self.processor {
            None => Some(tags),
            Some(number) => processors.find(|one| one["processor"] == number),
        };
        let Some(of) = of else {
            return 0.0;
        };
        let modules = of["modules"].as_array().map_or(&[][..], Vec::as_slice);
        let on_cpu = |time: &Value| time["cpu_ns"].as_u64().unwrap_or(0);
        let tagged: u64 = modules.iter().map(|module| on_cpu(&module["own"])).sum();
        let whole = tagged.saturating_add(on_cpu(&of["untagged"]));
        let module = modules.iter().find(|module| module["path"] == *self.path);
        let part = module.map_or(0, |module| on_cpu(&module["all"]));
        part as f64 / whole.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A tag's share is that of the processor that is asked for, with what is below it; one that is not there has none.
    #[test]
    fn tags_are_held_by_processor() {
        let module = |path: &str, own: u64, all: u64| json!({"path": path, "own": {"cpu_ns": own}, "all": {"cpu_ns": all}});
        let tags = json!({
            "modules": [module("scrub", 30, 70), module("scrub/crc", 40, 40), module("txn", 100, 100)],
            "untagged": {"cpu_ns": 30},
            "processors": [{
                "processor": 1,
                "modules": [module("scrub", 30, 70), module("scrub/crc", 40, 40)],
                "untagged": {"cpu_ns": 30},
            }],
        });
        let problem = |expected: &str| {
            let expected: ExpectedTag = toml::from_str(expected).expect("a tag");
            expected.problem("slow", &tags)
        };
        assert_eq!(problem("path = 'scrub'\nleast = 0.35\nmost = 0.35"), None);
        assert_eq!(problem("path = 'scrub'\nprocessor = 1\nleast = 0.7"), None);
        assert_eq!(problem("path = 'txn'\nprocessor = 1\nmost = 0.0"), None);
        let said = problem("path = 'scrub/crc'\nprocessor = 1\nleast = 0.5");
        let expected =
            "slow: the tag \"scrub/crc\" has 0.40 of the time on CPU of processor 1, not 0.5 to 1";
        assert_eq!(said.as_deref(), Some(expected));
        assert!(problem("path = 'scrub'\nprocessor = 0\nleast = 0.1").is_some());
    }
}
