/** Everything Chinese, as one file of its own that only a Chinese page loads. */
export { ZH } from './strings-zh.ts';
export { noteInChinese } from './strings-zh-notes.ts';
