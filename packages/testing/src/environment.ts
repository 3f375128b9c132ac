/** Jest's global setup passes values to its workers in these environment variables. */
export const ADMIN_URL_KEY = 'POSTRIDER_TEST_ADMIN_URL';
export const TEMPLATE_KEY = 'POSTRIDER_TEST_TEMPLATE';
export const REDIS_URL_KEY = 'POSTRIDER_TEST_REDIS_URL';

/** An empty variable counts as not set. */
export function environmentVariable(key: string): string | undefined {
  const value = process.env[key];
  return value === '' ? undefined : value;
}
