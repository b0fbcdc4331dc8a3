import { describe } from 'vitest';
import { storeCases } from '../../testing/store-suite/index.ts';
import { testPostgresStore } from '../support/postgres/postgres-suite.ts';

describe('the postgres store', () => testPostgresStore(storeCases));
