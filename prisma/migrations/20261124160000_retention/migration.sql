-- no transaction
-- Indexes by which retention finds what is past its days, a thousand rows at a time.

-- From an event to its outstanding deliveries: one probe an event.
create index concurrently if not exists deliveries_of_event on deliveries (event_id);

create index concurrently if not exists emails_by_age on emails (created_at);
-- Mail whose contents are still there.
create index concurrently if not exists emails_with_contents on emails (created_at)
  where html is not null or text is not null;

create index concurrently if not exists dead_letters_by_age on dead_letters (created_at);
