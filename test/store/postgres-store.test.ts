import { describe } from 'vitest';
import { storeCases } from '../../src/testing/store-suite/index.ts';
import { testPostgresStore } from '../support/postgres-suite.ts';

describe('the postgres store', () => testPostgresStore(storeCases));
