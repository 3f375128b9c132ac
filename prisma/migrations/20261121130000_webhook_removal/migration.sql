-- Since when a webhook is being removed: causes leave it out from then on, so that the DELETE of its row is not kept
-- waiting by ever new ones that hold it.
alter table webhooks add column removed_at timestamptz(3);
create index webhooks_being_removed on webhooks (removed_at) where removed_at is not null;
