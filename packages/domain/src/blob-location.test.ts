import { describe, expect, test } from '@jest/globals';
import { parseBlobLocation } from './blob-location.ts';

describe('a location', () => {
  test.each([
    ['file:/var/lib/postrider/blobs', '/var/lib/postrider/blobs'],
    ['file:/var/with space/ü', '/var/with space/ü'],
    ['file:///var/lib/postrider/blobs', '/var/lib/postrider/blobs'],
    ['file:.data/blobs', '.data/blobs'],
  ])('%s is the folder %s', (location, folder) => {
    expect(parseBlobLocation(location)).toEqual({ kind: 'file', folder });
  });

  test.each([
    ['s3://bucket', 'bucket', ''],
    ['s3://bucket/', 'bucket', ''],
    ['s3://a.bucket-1/mail', 'a.bucket-1', 'mail/'],
    ['s3://bucket/mail/raw_1.d/', 'bucket', 'mail/raw_1.d/'],
  ])('%s is the bucket %s with the prefix %j', (location, bucket, prefix) => {
    expect(parseBlobLocation(location)).toEqual({ kind: 's3', bucket, prefix });
  });

  test.each([
    '',
    '/var/lib/blobs',
    'blobs',
    'file:',
    'file: ',
    'file://host/path',
    'file:////path',
    'file:/a\0b',
    'FILE:/a',
    'http://bucket/prefix',
    's3:bucket/prefix',
    's3:///prefix',
    's3://ab',
    's3://Bucket/prefix',
    's3://buc..ket/prefix',
    's3://key:secret@bucket/prefix',
    's3://bucket//',
    's3://bucket/a//b',
    's3://bucket/../b',
    's3://bucket/a b',
    's3://bucket/ü',
    's3://bucket/a?b',
    's3://bucket/a\nb',
    `s3://bucket/${'a'.repeat(513)}`,
  ])('%j is refused', (location) => {
    expect(parseBlobLocation(location)).toBeNull();
  });
});
