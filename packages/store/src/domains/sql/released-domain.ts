import type { Statement } from '../../db/statement.ts';

/** One of the names that operators have released and the provider may still have, at random. Returns it, or no row. */
export const releasedDomain: Statement = {
  name: 'released-domain',
  text: `select name from released_domains order by random() limit 1`,
};
