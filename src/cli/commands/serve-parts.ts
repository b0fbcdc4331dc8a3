/** What a server is made of, apart from its store: loaded in one go while that is opened. */
export { createLogger } from '../../config/logger.ts';
export { openConfigured } from '../../config/open-configured.ts';
export { serve } from '../../server/serve.ts';
