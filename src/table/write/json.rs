//! The table as canonical JSON: keys in the order of the schema, maps sorted, a value on one line where it fits,
//! so that a pull request shows a changed rule as a changed line.

use serde_json::Value;

use crate::table::schema::Table;

const WIDTH: usize = 120;

pub fn json(table: &Table) -> String {
    // Text and numbers only: the types have no map with keys that are no strings, which is all that could fail.
    let value = serde_json::to_value(table).unwrap_or(Value::Null);
    let mut text = String::new();
    write(&value, 0, 0, &mut text);
    text.push('\n');
    text
}

pub fn from_json(text: &str) -> Result<Table, serde_json::Error> {
    serde_json::from_str(text)
}

/// `used` is what the line holds before the value.
fn write(value: &Value, indent: usize, used: usize, text: &mut String) {
    let compact = compact(value);
    if used + compact.len() <= WIDTH {
        text.push_str(&compact);
        return;
    }
    let inner = indent + 2;
    let mut lines = |open: char, close: char, items: Vec<(String, &Value)>| {
        text.push(open);
        let n_items = items.len();
        for (i, (key, item)) in items.into_iter().enumerate() {
            text.push('\n');
            text.push_str(&" ".repeat(inner));
            text.push_str(&key);
            write(item, inner, inner + key.len() + 1, text);
            if i + 1 < n_items {
                text.push(',');
            }
        }
        text.push('\n');
        text.push_str(&" ".repeat(indent));
        text.push(close);
    };
    match value {
        Value::Array(items) => lines('[', ']', items.iter().map(|i| (String::new(), i)).collect()),
        Value::Object(map) => lines('{', '}', map.iter().map(|(k, v)| (format!("{}: ", quoted(k)), v)).collect()),
        _ => text.push_str(&compact),
    }
}

fn compact(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let items: Vec<String> = map.iter().map(|(k, v)| format!("{}: {}", quoted(k), compact(v))).collect();
            format!("{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}
