import type { Statement } from '../../db/statement.ts';

/**
 * Reads the contents of a message's attachments, one behind the other: apart from the take, as one message's may be as long
 * as those of a thousand others.
 *
 * $1 email id. Returns one row; null without attachments.
 */
export const readContents: Statement = {
  name: 'read-contents',
  text: `
    select string_agg(a.content, '' order by a.position) as contents from email_attachments a where a.email_id = $1`,
};
