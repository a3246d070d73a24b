//! Writes the rows of a table as a Parquet file.

use std::fs::File;
use std::sync::Arc;

use anyhow::{Result, bail};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use rusqlite::types::ValueRef;

use crate::evidence::table::{ColumnType, EvidenceTable, TableColumn, vector_of};

/// A row group is written when it has this many rows or this many bytes of values, so that memory does not grow with the table.
const MAX_ROWS: usize = 1 << 16;
const MAX_BYTES: usize = 16 << 20;

/// The bytes that each number of a vector takes until it is written: the number and its two levels.
const BYTES_OF_NUMBER: usize = size_of::<f32>() + 2 * size_of::<i16>();

/// The line of a column in the schema of a file.
fn field(column: TableColumn) -> String {
    let name = column.name;
    let is_nullable = column.nullable;
    let repetition = if is_nullable { "optional" } else { "required" };
    match column.kind {
        ColumnType::Text => format!("{repetition} binary {name} (STRING);"),
        ColumnType::Integer => format!("{repetition} int64 {name};"),
        ColumnType::Real => format!("{repetition} double {name};"),
        ColumnType::Vector => format!(
            "required group {name} (LIST) {{ repeated group list {{ required float element; }} }}"
        ),
    }
}

/// The values of a column for the next row group.
enum ColumnValues {
    Text(Vec<ByteArray>),
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    /// The numbers of all vectors.
    Numbers(Vec<f32>),
}

/// A column of the next row group.
struct ColumnBuffer {
    column: TableColumn,
    values: ColumnValues,
    /// The definition level of each value, or of each number of a vector: 1, but 0 for null and for an empty vector. Unused for columns that have
    /// neither.
    definition: Vec<i16>,
    /// The repetition level of each number of a vector: 0 for the first, 1 for the others.
    repetition: Vec<i16>,
}

impl ColumnBuffer {
    fn new(column: TableColumn) -> ColumnBuffer {
        ColumnBuffer {
            values: match column.kind {
                ColumnType::Text => ColumnValues::Text(Vec::new()),
                ColumnType::Integer => ColumnValues::Integers(Vec::new()),
                ColumnType::Real => ColumnValues::Reals(Vec::new()),
                ColumnType::Vector => ColumnValues::Numbers(Vec::new()),
            },
            column,
            definition: Vec::new(),
            repetition: Vec::new(),
        }
    }

    /// Adds a value. Returns how many bytes it takes. Errors: the value has another type.
    fn push(&mut self, value: ValueRef) -> rusqlite::Result<usize> {
        if self.column.nullable {
            let is_null = value == ValueRef::Null;
            self.definition.push(i16::from(!is_null));
            if is_null {
                return Ok(size_of::<i16>());
            }
        }
        match &mut self.values {
            ColumnValues::Text(texts) => {
                let text = value.as_str()?;
                texts.push(ByteArray::from(text.as_bytes().to_vec()));
                Ok(text.len() + size_of::<ByteArray>())
            }
            ColumnValues::Integers(integers) => {
                integers.push(value.as_i64()?);
                Ok(size_of::<i64>())
            }
            ColumnValues::Reals(reals) => {
                reals.push(value.as_f64()?);
                Ok(size_of::<f64>())
            }
            ColumnValues::Numbers(numbers) => {
                let vector = vector_of(value.as_blob()?)?;
                let length = vector.len();
                numbers.extend(vector);
                // an empty vector has one level of each kind, and no number
                let end = self.repetition.len() + length.max(1);
                self.repetition.push(0);
                self.repetition.resize(end, 1);
                self.definition.resize(end, i16::from(length > 0));
                Ok(BYTES_OF_NUMBER * length)
            }
        }
    }

    /// Writes the values as a column of a row group, and removes them.
    fn write(&mut self, writer: &mut ColumnWriter) -> Result<()> {
        let [definition, repetition] = [&self.definition, &self.repetition]
            .map(|levels| (!levels.is_empty()).then_some(levels.as_slice()));
        match (&self.values, writer) {
            (ColumnValues::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?
            }
            (ColumnValues::Integers(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?
            }
            (ColumnValues::Reals(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?
            }
            (ColumnValues::Numbers(values), ColumnWriter::FloatColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?
            }
            _ => bail!("a column of the file has another type than its values"),
        };
        *self = ColumnBuffer::new(self.column);
        Ok(())
    }
}

/// A Parquet file that is being written.
pub(super) struct TableFile {
    writer: SerializedFileWriter<File>,
    buffers: Vec<ColumnBuffer>,
    /// Number of rows and bytes in the buffers.
    rows: usize,
    bytes: usize,
}

impl TableFile {
    /// Begins a file with the columns of a table.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn new(file: File, table: &EvidenceTable) -> Result<TableFile> {
        let fields: String = table.columns().into_iter().map(field).collect();
        let schema = parse_message_type(&format!("message {} {{ {fields} }}", table.name))?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk);
        let mut vectors = table.columns();
        vectors.retain(|column| column.kind == ColumnType::Vector);
        for column in vectors {
            // numbers of vectors rarely repeat, and nobody searches for one of them
            let path = [column.name, "list", "element"];
            let path = ColumnPath::from(path.map(str::to_owned).to_vec());
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
        Ok(TableFile {
            writer: SerializedFileWriter::new(file, Arc::new(schema), properties.build().into())?,
            buffers: table.columns().into_iter().map(ColumnBuffer::new).collect(),
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds a row with the values of all columns.
    ///
    /// # Errors
    /// A value has another type than its column.
    pub(super) fn add(&mut self, row: &rusqlite::Row) -> rusqlite::Result<()> {
        for (at, buffer) in self.buffers.iter_mut().enumerate() {
            self.bytes += buffer.push(row.get_ref(at)?)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Whether the rows that were added must be written before others are added.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    /// Writes the rows that were added as a row group.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_rows(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.buffers {
            let Some(mut column) = group.next_column()? else {
                bail!("the file has fewer columns than the table");
            };
            buffer.write(column.untyped())?;
            column.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes the remaining rows, and ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.write_rows()?;
        }
        self.writer.into_inner()?.sync_all()?;
        Ok(())
    }
}
