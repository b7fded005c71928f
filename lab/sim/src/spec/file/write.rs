//! A machine file as text.

use super::MachineFile;
use serde::Serialize;
use std::fmt::Write;
use toml::Table;

impl MachineFile {
    /// Writes the file: a line for each key, a `[table]` line above each group.
    ///
    /// # Errors
    ///
    /// None for files whose numbers fit TOML; states which does not.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut text = String::new();
        for (key, value) in [("name", &self.name), ("title", &self.title)] {
            let _ = writeln!(text, "{key} = {}", toml::Value::from(value.as_str()));
        }
        section(&mut text, "topology", &self.topology)?;
        section(&mut text, "cpu", &self.cpu)?;
        section(&mut text, "coherence", &self.coherence)?;
        section(&mut text, "system", &self.system)?;
        Ok(text)
    }
}

/// Writes one table, its inner tables on a line each: twenty `[cpu.load_hit]` lines would not be a readable table.
fn section(text: &mut String, name: &str, table: &impl Serialize) -> Result<(), toml::ser::Error> {
    let _ = writeln!(text, "\n[{name}]");
    for (key, value) in &Table::try_from(table)? {
        let _ = writeln!(text, "{key} = {value}");
    }
    Ok(())
}
