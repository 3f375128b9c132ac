import { createTransport } from 'nodemailer';
import type { SendMailOptions } from 'nodemailer';

/**
 * Sends a message over SMTP to a port of loopback, as a mail server from outside does.
 *
 * @returns the answer to it
 * @throws what nodemailer does, with the answer's code in `responseCode`
 */
export async function sendMail(port: number, mail: SendMailOptions): Promise<string> {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  try {
    const { response } = await transport.sendMail(mail);
    return response;
  } finally {
    transport.close();
  }
}
