-- A recovery may send dead letters alone: those that were made in its time span, also of events that are gone.
alter table recoveries
  add column dead_letters_only boolean not null default false,
  add column reason dead_letter_reason; -- only dead letters of this reason; null: of any
