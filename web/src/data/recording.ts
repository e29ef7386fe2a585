// One recording as the page asks it: each request by its name, with the type of its answer. Nothing is asked twice.

import type {
  Answer, Bands, Calls, Checks, Code, Compare, FlameTile, LaneTile, Overview, PathTile, Predicted, Thing, Things, WhatIf,
} from "../generated/model";
import type { Source } from "./source";

export type LanesBy = "process" | "thread" | "processor";
export type Side = "a" | "b";

export class Recording {
  private readonly asked = new Map<string, Promise<unknown>>();

  constructor(readonly source: Source, readonly side: Side) {}

  private request(name: string): string {
    return this.side === "b" ? `b/${name}` : name;
  }

  has(name: string): boolean {
    return this.source.has(this.request(name));
  }

  ask<T>(name: string): Promise<T> {
    const request = this.request(name);
    let asked = this.asked.get(request);
    if (asked === undefined) {
      asked = this.source.ask(request);
      // What failed may be asked again.
      asked.catch(() => this.asked.delete(request));
      this.asked.set(request, asked);
    }
    return asked as Promise<T>;
  }

  overview = () => this.ask<Overview>("overview");
  answer = () => this.ask<Answer>("answer");
  checks = () => this.ask<Checks>("checks");
  bands = () => this.ask<Bands>("bands");
  code = () => this.ask<Code>("code");
  things = () => this.ask<Things>("things");
  calls = () => this.ask<Calls>("calls");
  whatif = () => this.ask<WhatIf>("whatif");
  compare = () => this.ask<Compare>("compare");
  thing = (id: number) => this.ask<Thing>(thingRequest(id));
  predict = (request: string) => this.ask<Predicted>(request);
}

export const thingRequest = (id: number) => `thing?id=${id}`;
export const pathRequest = (level: number, tile: number) => `path?level=${level}&tile=${tile}`;
export const flameRequest = (level: number, tile: number) => `flame?level=${level}&tile=${tile}`;
export const lanesRequest = (by: LanesBy, chunk: number) => (level: number, tile: number) =>
  `lanes?by=${by}&chunk=${chunk}&level=${level}&tile=${tile}`;

export type AnyTile = PathTile | LaneTile | FlameTile;
