/** The module that workerd has built in. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env> {
    protected ctx: import('./durable-object/cloudflare.js').ObjectState
    protected env: Env
    constructor(ctx: import('./durable-object/cloudflare.js').ObjectState, env: Env)
  }
}
