//! What a server reports of the commands, of the filters and of the module.

mod command_docs;
mod command_table;
mod digest;
mod digest_large;
mod fill_cost;
mod help;
mod info_fields;
mod info_section;
