import { createTransport } from 'nodemailer';
import type { SendMailOptions } from 'nodemailer';

/**
 * Sends a message over SMTP to a port of 127.0.0.1, as a mail server outside does. With `lmtp` it sends over
 * LMTP, as a mail server in front of Postrider does.
 *
 * @returns the answer to the message
 * @throws what nodemailer does, with the answer's code in `responseCode`
 */
export async function sendMail(
  port: number,
  mail: SendMailOptions,
  options: {
    readonly lmtp?: boolean;
    readonly greetingTimeout?: number;
    readonly socketTimeout?: number;
  } = {},
): Promise<string> {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, ...options });
  try {
    const { response } = await transport.sendMail(mail);
    return response;
  } finally {
    transport.close();
  }
}
