import { expect, test } from '@jest/globals';
import { configurationPage } from './docs.ts';
import { settings } from './settings.ts';

const page = configurationPage();
const rowOf = (process: string, key: string) =>
  page
    .split(`## ${process}\n`)[1]
    ?.split('\n## ')[0]
    ?.split('\n')
    .find((line) => line.startsWith(`| \`${key}\` |`));

test.each(Object.values(settings))('$key stands in the table of every process that reads it', (setting) => {
  for (const process of setting.processes) expect(rowOf(process, setting.key)).toContain(setting.description);
});

test('a row tells default and unit; each process its own', () => {
  expect(rowOf('worker', 'DELIVERY_TIMEOUT_MS')).toContain('| `10000` | ms |');
  expect(rowOf('relay', 'METRICS_PORT')).toContain('| `9101` |');
  expect(rowOf('worker', 'METRICS_PORT')).toContain('| `9102` |');
  expect(rowOf('api', 'DATABASE_URL')).toContain('| **required** |');
  expect(rowOf('api', 'REDIS_URL')).toContain('| not set |');
  expect(rowOf('worker', 'LEASE_SECONDS')).toContain(
    '| 30, or `DELIVERY_TIMEOUT_MS` + 10 s if that is more | s |',
  );
  expect(rowOf('api', 'METRICS_PORT')).toBeUndefined();
  expect(rowOf('relay', 'MAIL_CONCURRENCY')).toBeUndefined();
});
