-- Reports of mail whose hand-over is not committed yet, for an hour at the most. An id of the provider's has no length that
-- we know of; a hash takes any.

create table unclaimed_notifications (
  message_id text primary key,
  provider_message_id text not null,
  report text not null,
  received_at timestamptz(3) not null default now()
);
create index unclaimed_notifications_of_message on unclaimed_notifications using hash (provider_message_id);
create index unclaimed_notifications_by_age on unclaimed_notifications (received_at);
