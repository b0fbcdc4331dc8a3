/** Everything Chinese, in a file that only a Chinese page loads. */
export { CHINESE as MESSAGES } from './messages-zh.ts';
export { ZH as WORDS } from './strings-zh.ts';
