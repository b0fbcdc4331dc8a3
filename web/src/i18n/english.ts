/** Texts of the server in English, in a file that is loaded after the page. */
export { ENGLISH as MESSAGES } from 'reprise/messages';
