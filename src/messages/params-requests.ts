/** Messages about requests: input, authentication, limits, and the server itself. */
export interface RequestMessages {
  'request.noRoute': { readonly path: string };
  'request.noMethod': { readonly method: string; readonly path: string; readonly allow: string };
}
