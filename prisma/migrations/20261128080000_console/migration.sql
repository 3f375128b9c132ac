-- Who is signed in to the console. The cookie holds a token, and the row its SHA-256.
create table console_sessions (
  token_digest bytea primary key,
  user_name text not null,
  -- The SHA-256 of the key that signed in. The session ends when CONSOLE_KEYS no longer has it.
  key_digest bytea not null,
  expires_at timestamptz(3) not null
);
create index console_sessions_by_age on console_sessions (expires_at);

-- Forms that the console has received. A form that arrives again gets the result of the first time.
create table console_forms (
  token text primary key,
  -- The path of the page with the result. Null: the action has not ended.
  location text,
  -- What the action did, in words.
  outcome text,
  received_at timestamptz(3) not null default now()
);
create index console_forms_by_age on console_forms (received_at);
