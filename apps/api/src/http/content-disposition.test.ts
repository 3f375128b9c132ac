import { expect, test } from '@jest/globals';
import { attachmentDisposition } from './content-disposition.ts';

test.each([
  ['report.pdf', 'attachment; filename="report.pdf"'],
  ["a 'b' (1)*.txt", `attachment; filename="a 'b' (1)_.txt"`],
  [
    'Rechnung März.pdf',
    `attachment; filename="Rechnung M_rz.pdf"; filename*=UTF-8''Rechnung%20M%C3%A4rz.pdf`,
  ],
  ["é'()!.txt", `attachment; filename="_'()!.txt"; filename*=UTF-8''%C3%A9%27%28%29!.txt`],
  ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
  ['\u{1f389}.png', `attachment; filename="_.png"; filename*=UTF-8''%F0%9F%8E%89.png`],
  ['', 'attachment; filename="attachment"'],
  [' \t\0', 'attachment; filename="attachment"'],
  ['..', 'attachment; filename="_"'],
  ['.bashrc', 'attachment; filename="_bashrc"'],
  ['../../etc/passwd', 'attachment; filename="__.._etc_passwd"'],
  ['C:\\a\\b.exe', 'attachment; filename="C__a_b.exe"'],
  ['a"; filename="b.html', 'attachment; filename="a_; filename=_b.html"'],
  ['a\r\nSet-Cookie: x=1\r\n\r\n<script>', 'attachment; filename="aSet-Cookie_ x=1_script_"'],
  // Shown backwards, it would end in `gpj.exe`.
  ['photo\u202egpj.exe', 'attachment; filename="photogpj.exe"'],
  ['a\u2028b\u0085c\u200b\ufeff\ud800.txt', 'attachment; filename="abc.txt"'],
  ['x'.repeat(1_000), `attachment; filename="${'x'.repeat(255)}"`],
])('%j stands in the header as %s', (name, header) => {
  expect(attachmentDisposition(name)).toBe(header);
});

test('no name breaks the header', () => {
  const sound = /^attachment; filename="a[ !#-[\]-~]*b"(; filename\*=UTF-8''[\w!#$&+\-.^`|~%]+)?$/;
  const codes = Array.from({ length: 0x10000 }, (_, code) => code);
  const breaksHeader = (code: number) => !sound.test(attachmentDisposition(`a${String.fromCharCode(code)}b`));
  expect(codes.filter(breaksHeader)).toEqual([]);
});
