declare module '*?file' {
  /** The address of the module's bundle; see `fileUrls` in vite.config.ts. */
  const url: string;
  export default url;
}
