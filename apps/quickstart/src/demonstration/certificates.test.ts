import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { writeTrustFile } from './certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const trusted = (own?: string) => readFileSync(writeTrustFile(folder, 'ours', own), 'utf8');

test('the worker trusts our certificate and those in NODE_EXTRA_CA_CERTS', () => {
  const own = join(folder, 'own.pem');
  writeFileSync(own, 'of the user\n');
  expect(trusted(own)).toBe('ours\nof the user\n');
});

test('the worker trusts our certificate when the user has none, or names a missing file', () => {
  expect(trusted()).toBe('ours\n');
  expect(trusted(join(folder, 'missing.pem'))).toBe('ours\n');
});
