import { expect, test } from '@jest/globals';
import { unprivilegedUser } from './run-as.ts';

const MACOS = `
##
# User Database
##
nobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false
root:*:0:0:System Administrator:/var/root:/bin/sh
daemon:*:1:1:System Services:/var/root:/usr/bin/false
`;
const DEBIAN = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
nobody:x:65533:65532:nobody:/nonexistent:/usr/sbin/nologin
`;

test.each([
  ['nobody', DEBIAN, { uid: 65_533, gid: 65_532 }],
  ['daemon on macOS, where nobody has the negative number -2', MACOS, { uid: 1, gid: 1 }],
  ['65534 without entries', '', { uid: 65_534, gid: 65_534 }],
])('root starts Postgres as %s', (_who, passwd, user) => {
  expect(unprivilegedUser(passwd)).toEqual(user);
});
