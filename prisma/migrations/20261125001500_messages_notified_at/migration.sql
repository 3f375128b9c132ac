-- When SES told of a message: an erasure means what came before it, however long the message waited to be taken in.
alter table messages add column notified_at timestamptz(3);
