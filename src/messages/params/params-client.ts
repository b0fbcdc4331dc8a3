import type { None } from '../params.ts';

/** Messages of the client about the way to a server. */
export interface ClientMessages {
  'client.badUrl': None;
  /** `reason`: what the system reported, such as "connect ECONNREFUSED 127.0.0.1:4747"; empty: nothing. */
  'client.noAnswer': { readonly url: string; readonly reason: string };
  'client.badAnswer': { readonly status: number };
  'client.streamEnded': { readonly url: string | null };
  'client.streamSilent': { readonly url: string; readonly seconds: number };
  'client.badEvent': { readonly url: string };
  'client.eventTooLarge': { readonly max: number };
  'client.streamRead': None;
}
