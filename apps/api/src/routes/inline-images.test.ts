import { expect, test } from '@jest/globals';
import type { AttachmentId } from '@postrider/domain';
import { withInlineImages } from './inline-images.ts';

const IMAGE = {
  id: 'att_1' as AttachmentId,
  filename: null,
  contentType: 'image/png',
  contentId: '<a@b>',
  size: 1,
  blob: 'b',
};
const BYTES = Buffer.from('x');
const blobs = { read: async () => Promise.resolve(BYTES) };
const URI = `data:image/png;base64,${BYTES.toString('base64')}`;

test('shows the images of the first 1,000 references, also of those that name no image', async () => {
  const html = '<img src=cid:a%40b><img src=cid:other>'.repeat(501);
  const shown = await withInlineImages(html, [IMAGE], blobs);
  expect(shown.split(URI)).toHaveLength(500 + 1);
  expect(shown.endsWith(`<img src=${URI}><img src=cid:other><img src=cid:a%40b><img src=cid:other>`)).toBe(
    true,
  );
});

test('a reference whose escapes are broken, or not UTF-8, names the id as it is written', async () => {
  const ids = ['100%', '%zz@b', '%ff@b'];
  const files = ids.map((contentId) => ({ ...IMAGE, contentId }));
  const html = ids.map((id) => `<img src="cid:${id}">`).join('');
  expect(await withInlineImages(html, files, blobs)).toBe(`<img src="${URI}">`.repeat(ids.length));
});
