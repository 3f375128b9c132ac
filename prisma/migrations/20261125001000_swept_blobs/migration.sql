-- Blobs that the sweep took out of the blob store, or is about to. A row goes a day later: no message is stored so long after
-- its bytes were put.
create table swept_blobs (
  id text primary key,
  -- Until then the sweep may still remove the bytes. After it they are gone or left, and may be put again.
  leased_until timestamptz not null
);
create index swept_blobs_by_age on swept_blobs (leased_until);

-- One row: when the next sweep is due. The inbound process that sets it anew does the sweep.
create table blob_sweeps (
  id boolean primary key default true check (id),
  due_at timestamptz not null
);
