/** Names the sender and the major version of what it sends (contract section 9). */
export const USER_AGENT = 'Postrider/1';
