//! Reads Parquet files as Spark writes them: many files in a directory, possibly divided into directories by the values of columns.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::record::Row;
use parquet::schema::types::{Type, TypePtr};

use crate::disk::regular;
use crate::limits::{MAX_COLUMN_VALUES, MAX_ROW_BYTES, MAX_ROW_GROUP_BYTES, MAX_TABLE_DEPTH};

/// What a value of a row takes in memory besides its bytes: it is stored with the name of its column.
const VALUE_BYTES: u64 = 128;

/// The Parquet files in a directory and its subdirectories, sorted by path. Names that begin with a dot or an underscore are ignored, as Spark
/// ignores them.
///
/// # Errors
/// A directory cannot be listed or contains another kind of file, or there is no Parquet file.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(dir, 0, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("there is no Parquet file in {}", dir.display());
    }
    Ok(files)
}

fn list(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let listing = || format!("cannot list {}", dir.display());
    ensure!(
        depth < MAX_TABLE_DEPTH,
        "{} has more than {MAX_TABLE_DEPTH} levels of directories",
        dir.display()
    );
    for entry in fs::read_dir(dir).with_context(listing)? {
        let path = entry.with_context(listing)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            list(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|end| end == "parquet") {
            files.push(path);
        } else {
            bail!("{} is not a Parquet file", path.display());
        }
    }
    Ok(())
}

/// Calls `each` with each row of a file. Only `columns` are read; `None` means all columns.
///
/// # Errors
/// The file cannot be read or lacks a column, or `each` fails.
pub fn each_row(
    path: &Path,
    columns: Option<&[&str]>,
    each: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let mut read = || -> Result<()> {
        let reader = SerializedFileReader::new(regular::open(path)?)?;
        check_sizes(reader.metadata())?;
        for n in 0..reader.num_row_groups() {
            let group = reader.get_row_group(n)?;
            check_rows(&*group, columns).with_context(|| format!("row group {}", n + 1))?;
        }
        let schema = reader.metadata().file_metadata().schema();
        let projection = columns
            .map(|columns| project(schema, columns))
            .transpose()?;
        for row in reader.get_row_iter(projection)? {
            each(row?)?;
        }
        Ok(())
    };
    // the library can panic on damaged files
    let done = catch_unwind(AssertUnwindSafe(&mut read));
    let done = done.unwrap_or_else(|_| Err(anyhow!("it is damaged (the message is above)")));
    done.with_context(|| format!("cannot read {}", path.display()))
}

/// Checks before anything is decompressed that no group of rows is too large for the memory.
///
/// # Errors
/// A group is too large, or a size is negative.
fn check_sizes(metadata: &ParquetMetaData) -> Result<()> {
    for (n, group) in (1..).zip(metadata.row_groups()) {
        // a damaged file can have negative sizes
        let bytes = group.columns().iter().try_fold(0_i64, |sum, column| {
            let bytes = column.uncompressed_size();
            sum.checked_add(bytes).filter(|_| bytes >= 0)
        });
        ensure!(
            bytes.is_some_and(|bytes| bytes <= MAX_ROW_GROUP_BYTES),
            "its row group {n} has more than {} MiB after decompression",
            MAX_ROW_GROUP_BYTES >> 20
        );
    }
    Ok(())
}

/// Checks before the rows of a group are made, with these columns or with all, that none is too large for the memory.
///
/// # Errors
/// A row is too large, a column has too many values, or a page cannot be read.
fn check_rows(group: &dyn RowGroupReader, wanted: Option<&[&str]>) -> Result<()> {
    let columns = group.metadata().columns().iter().enumerate();
    let is_wanted = |name: &String| wanted.is_none_or(|wanted| wanted.contains(&&**name));
    let columns: Vec<_> = columns
        .filter(|(_, column)| column.column_path().parts().first().is_some_and(is_wanted))
        .collect();
    let (mut most, mut has_dictionary) = (0, false);
    for (n, column) in &columns {
        let mut pages = group.get_column_page_reader(*n)?;
        let mut values = 0_usize;
        while let Some(page) = pages.peek_next_page()? {
            values = values.saturating_add(page.num_levels.unwrap_or_default());
            has_dictionary |= page.is_dict;
            pages.skip_next_page()?;
        }
        ensure!(
            values <= MAX_COLUMN_VALUES,
            "the column {} has {values} values (at most {MAX_COLUMN_VALUES} in a row group)",
            column.column_path().string()
        );
        let bytes = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
        let of_values = VALUE_BYTES.saturating_mul(values as u64);
        most = u64::saturating_add(most, bytes.saturating_add(of_values));
    }
    if most <= MAX_ROW_BYTES && !has_dictionary {
        return Ok(());
    }
    let mut rows: Vec<u64> = Vec::new();
    for (n, _) in columns {
        match group.get_column_reader(n)? {
            ColumnReader::BoolColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::Int32ColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::Int64ColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::Int96ColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::FloatColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::DoubleColumnReader(reader) => weigh(reader, &mut rows, |_| 0),
            ColumnReader::ByteArrayColumnReader(reader) => weigh(reader, &mut rows, ByteArray::len),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                weigh(reader, &mut rows, |value: &FixedLenByteArray| value.len())
            }
        }?;
    }
    for (n, bytes) in (1..).zip(rows) {
        ensure!(
            bytes <= MAX_ROW_BYTES,
            "its row {n} has more than {} MiB in memory",
            MAX_ROW_BYTES >> 20
        );
    }
    Ok(())
}

/// Adds to each row what the values of a column take in memory. Values that are stored once are not copied here. `length` is the number of bytes of a
/// value outside its own size.
fn weigh<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: &mut Vec<u64>,
    length: impl Fn(&T::T) -> usize,
) -> Result<()> {
    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0.. {
        defined.clear();
        repeated.clear();
        values.clear();
        let (records, _, levels) =
            reader.read_records(1, Some(&mut defined), Some(&mut repeated), &mut values)?;
        if records == 0 {
            break;
        }
        if rows.len() == n {
            rows.push(0);
        }
        if let Some(bytes) = rows.get_mut(n) {
            let lengths: u64 = values.iter().map(|value| length(value) as u64).sum();
            *bytes = bytes.saturating_add(lengths + VALUE_BYTES * levels as u64);
        }
    }
    Ok(())
}

/// The schema of some columns of a file.
fn project(schema: &Type, columns: &[&str]) -> Result<Type> {
    let field = |name: &&str| -> Result<TypePtr> {
        let mut fields = schema.get_fields().iter();
        let found = fields.find(|field| field.name() == *name);
        let found = found.with_context(|| {
            format!("it has no column {name}, so riposte-spark did not write it")
        })?;
        Ok(Arc::clone(found))
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    let mut builder = Type::group_type_builder(schema.name()).with_fields(fields);
    // the root must be the same as in the file, and not every program gives it a repetition
    let root = schema.get_basic_info();
    if root.has_repetition() {
        builder = builder.with_repetition(root.repetition());
    }
    Ok(builder.build()?)
}
