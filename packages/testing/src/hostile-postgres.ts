/** Settings of a Postgres, by name. */
type Settings = Readonly<Record<string, string>>;

/**
 * Settings of the tests' servers. An operator's server may have each of them. Code that depends on Postgres's
 * own defaults fails here.
 */
export const HOSTILE_SETTINGS: Settings = {
  timezone: 'Asia/Kolkata',
  datestyle: 'SQL, DMY',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-10',
  standard_conforming_strings: 'off',
  escape_string_warning: 'off', // hides a warning about the setting above
  array_nulls: 'off',
  transform_null_equals: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  statement_timeout: '10s',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '500ms',
  idle_session_timeout: '2s',
  max_prepared_transactions: '5',
};

/** Settings of the tests' own sessions: the defaults of Postgres, with `public` alone in the search path. */
const USUAL_SETTINGS: Settings = {
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  search_path: 'public',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
};

/** The `options` of a connection that a test opens itself. */
export const SESSION_OPTIONS = Object.entries(USUAL_SETTINGS)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
  .join(' ');
