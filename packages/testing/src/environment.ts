/** Jest's global setup passes these values to its workers in their environment. */
export const ADMIN_URL_KEY = 'POSTRIDER_TEST_ADMIN_URL';
export const TEMPLATE_KEY = 'POSTRIDER_TEST_TEMPLATE';
export const REDIS_URL_KEY = 'POSTRIDER_TEST_REDIS_URL';

/** A value that the global setup has published. */
export function published(key: string): string | undefined {
  const value = process.env[key];
  return value === '' ? undefined : value;
}
