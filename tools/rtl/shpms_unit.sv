// SPDX-License-Identifier: GPL-2.0-or-later
//
// The sampling unit of shpmsdetails: the registers of the specification, and what fills them.
//
// It sits beside the retire stage and only listens.  In each cycle it is told what retires, what is
// the oldest instruction behind that, and whether a flush is in progress; README.md says how to wire
// that.  When the period counter overflows, the cycle becomes a record.  Part of a record may be known
// later than its cycle: the PC of a drained cycle is that of the instruction that arrives next, and
// the causes of an instruction that blocks are complete when it leaves.  Such a record waits, and the
// interrupt with it (decisions 1, 4 and 20 of Documentation/hardware.md).
//
// Records wait in a queue of Depth entries; the oldest is entry 0, which is also what software reads
// in the registers.  Without AutoRun one entry is enough, since only one sample can be pending.
//
// One clock, synchronous reset, no latches.
//
module shpms_unit #(
    parameter int Width = 4,  // instructions that can retire in a cycle, 1 to 8
    parameter int Xlen = 64,  // 32 or 64
    parameter bit Compressed = 1,  // there are 16-bit instructions
    parameter int Targets = 2,  // 0 to 2
    parameter int Causes = 10,  // bits of CAUSE that are tracked, 0 to 10
    parameter logic [9:0] FrontCauses = 10'b0001000011,  // those that are met before the reorder buffer
    parameter int AllocCause = -1,  // the bit that rename_blocked sets; -1: none
    parameter int CounterBits = 31,  // of the period counter, 9 to 31
    parameter int MinimumBits = 8,  // periods below 2^MinimumBits cycles are refused
    parameter bit AutoRun = 1,  // records can be streamed
    parameter bit Discarded = 1,  // discarded overflows are counted in shpmsdata (RV64)
    parameter bit Late = 1,  // records wait for what is known later than their cycle
    parameter int Depth = AutoRun ? 4 : 1,  // records that can wait
    parameter int RefillCycles = 0,  // from a redirect to the reorder buffer; 0: a flush lasts until an arrival
    parameter bit RowPc = 0,  // slot_pc has one PC, that of slot 0, be it valid or not
    parameter logic [4:0] CounterId = 0,  // CNTRID of the period counter
    parameter logic [11:0] CsrBase = 12'h5C0,
    localparam int CauseBits = Causes > 0 ? Causes : 1,
    localparam int SlotPcs = RowPc ? 1 : Width
) (
    input logic clk,
    input logic rst,

    // ---- The retire stage in this cycle ----
    // Slot 0 is the oldest.  Slots that do not retire may be anywhere.
    input logic [Width-1:0] slot_valid,  // it retires
    input logic [SlotPcs*Xlen-1:0] slot_pc,
    input logic [Width-1:0] slot_short,  // 16 bits long; needed with RowPc only
    input logic [Width-1:0] slot_taken,  // control goes on at its target: taken branch, jump, trap behind it
    input logic [Width*Xlen-1:0] slot_target,
    input logic [Width*CauseBits-1:0] slot_cause,  // all that it met
    input logic [Width-1:0] slot_flush,  // it empties the pipeline
    // The oldest instruction that is in the reorder buffer and does not retire in this cycle.
    input logic head_valid,
    input logic head_done,  // it could have retired
    input logic [Xlen-1:0] head_pc,  // without head_valid: the next PC, needed if not Late
    input logic [CauseBits-1:0] head_cause,  // what it met so far
    // An instruction that does not retire has emptied the pipeline: it faulted, or is fetched again.
    // From that cycle on, until an instruction enters the reorder buffer.
    input logic flush,
    input logic [Xlen-1:0] flush_pc,
    input logic [CauseBits-1:0] flush_cause,
    // The done head is held while the wrong path of the branch at flush_pc is rolled back.
    input logic rollback,
    // Fetch is redirected because of a flush; a flush begins in this cycle whose redirect comes later.
    input logic redirect,
    input logic redirect_due,
    input logic rename_blocked,  // rename waits for a full structure of the back end

    // ---- The hart ----
    input logic count,  // the hart is in a mode in which the counter runs
    input logic csr_valid,  // an instruction accesses csr_addr
    input logic csr_write,
    input logic [11:0] csr_addr,
    input logic [Xlen-1:0] csr_wdata,
    input logic csr_machine,  // M-mode
    input logic csr_guest,  // VS- or VU-mode
    input logic csr_user,  // U-mode
    input logic csr_delegated,  // menvcfg.CDE
    output logic csr_hit,  // the address is one of the unit's
    output logic csr_illegal,  // raise an illegal-instruction exception
    output logic csr_virtual,  // raise a virtual-instruction exception
    output logic [Xlen-1:0] csr_rdata,
    input logic lcofip_clear,  // software clears the bit in sip
    output logic lcofip,  // local counter overflow interrupt, pending
    output logic sampled,  // this cycle is sampled: freezes control transfer records

    // ---- AutoRun ----
    output logic record_valid,
    input logic record_ready,
    output logic [Xlen-1:0] record_pc,
    output logic [31:0] record_details,
    output logic [Xlen-1:0] record_bt1,
    output logic [Xlen-1:0] record_bt2,
    output logic [Xlen-1:0] record_data
);
  localparam int Low = Compressed ? 1 : 2;  // address bits that are always 0
  localparam int Pc = Xlen - Low;
  localparam int Stored = Targets > 0 ? Targets : 1;
  localparam int UsedBits = $clog2(Depth + 1);

  localparam logic [1:0] Retiring = 0, Stalled = 1, Flushed = 2, Drained = 3;
  // What a record waits for.
  localparam logic [1:0] Nothing = 0, Arrival = 1, Leaving = 2;

  // ---- The period counter -----------------------------------------------------------------------

  logic [CounterBits-1:0] start, counter;
  logic running, streams, due;
  logic sample;

  wire cc_write = csr_valid && csr_write && !csr_illegal && !csr_virtual && csr_addr == CsrBase + 12'd5;
  // A period of 2^CounterBits - value below 2^MinimumBits.
  localparam logic [CounterBits-1:0] ShortMask = CounterBits'((64'd1 << MinimumBits) - 1);
  wire [CounterBits-1:0] wanted = csr_wdata[CounterBits-1:0];
  wire too_short = &(wanted | ShortMask) && |(wanted & ShortMask);
  wire cc_stop = cc_write && csr_wdata[30:0] == 0;
  wire cc_start = cc_write && csr_wdata[30:0] != 0 && !too_short;

  assign sample = due && count && running;

  always_ff @(posedge clk) begin
    if (rst || cc_stop) begin
      start <= 0;
      counter <= 0;
      running <= 0;
      streams <= 0;
      due <= 0;
    end else if (cc_start) begin
      start <= wanted;
      counter <= wanted;
      running <= 1;
      streams <= AutoRun && csr_wdata[31];
      due <= 0;
    end else if (running && count) begin
      due <= &counter;
      counter <= &counter ? start : counter + 1'b1;
    end
  end

  // ---- The cycle --------------------------------------------------------------------------------

  // Retired instructions: their number, the oldest, the first two transfers, the first with a cause.
  logic [3:0] retired, transfers, offset1, offset2, first_offset;
  logic [Xlen-1:0] oldest_pc, row_offset, youngest_pc, target1, target2;
  logic [CauseBits-1:0] oldest_cause, first_cause, youngest_cause;
  logic youngest_flushes;
  wire retires = |slot_valid;

  always_comb begin
    retired = 0;
    transfers = 0;
    offset1 = 0;
    offset2 = 0;
    first_offset = 0;
    oldest_pc = 0;
    row_offset = 0;
    youngest_pc = 0;
    target1 = 0;
    target2 = 0;
    oldest_cause = 0;
    first_cause = 0;
    youngest_cause = 0;
    youngest_flushes = 0;
    for (int i = 0; i < Width; i++) begin
      if (slot_valid[i]) begin
        youngest_pc = RowPc ? slot_pc[Xlen-1:0] + row_offset : slot_pc[(RowPc ? 0 : i)*Xlen+:Xlen];
        youngest_cause = slot_cause[i*CauseBits+:CauseBits];
        youngest_flushes = slot_flush[i];
        if (retired == 0) begin
          oldest_pc = youngest_pc;
          oldest_cause = youngest_cause;
        end
        retired = retired + 1;
        if (first_offset == 0 && Causes > 0 && youngest_cause != 0) begin
          first_offset = retired;
          first_cause = youngest_cause;
        end
        if (slot_taken[i]) begin
          if (transfers == 0) begin
            offset1 = retired;
            target1 = slot_target[i*Xlen+:Xlen];
          end
          if (transfers == 1) begin
            offset2 = retired;
            target2 = slot_target[i*Xlen+:Xlen];
          end
          transfers = transfers + 1;
        end
      end
      // Behind a transfer of the row the next PC is its target.
      row_offset = slot_taken[i] ? slot_target[i*Xlen+:Xlen] - slot_pc[Xlen-1:0]
                                 : row_offset + (Compressed && slot_short[i] ? 2 : 4);
    end
  end

  // A flush whose culprit has retired, until an instruction arrives.
  logic flushed;
  logic [Pc-1:0] culprit_pc;
  logic [CauseBits-1:0] culprit_cause;

  always_ff @(posedge clk) begin
    if (rst) flushed <= 0;
    else if (head_valid) flushed <= 0;
    else if (retires) flushed <= youngest_flushes;
    if (retires) begin
      culprit_pc <= youngest_pc[Xlen-1:Low];
      culprit_cause <= youngest_cause;
    end
  end

  // Whether the front end would not have delivered yet, even without a miss (decision 2).
  logic refill;
  generate
    if (RefillCycles > 0) begin : g_refill
      localparam int Bits = $clog2(RefillCycles + 1);
      logic [Bits-1:0] left;
      logic waits;
      always_ff @(posedge clk) begin
        if (rst) begin
          left <= 0;
          waits <= 0;
        end else begin
          if (redirect) left <= Bits'(RefillCycles - 1);
          else if (left != 0) left <= left - 1'b1;
          waits <= !redirect && (waits || redirect_due);
        end
      end
      assign refill = redirect || redirect_due || waits || left != 0;
    end else begin : g_no_refill
      assign refill = 1;
    end
  endgenerate

  // The record of this cycle as far as it is known, and what it waits for.
  logic [1:0] now_state, now_wait;
  logic [Xlen-1:0] now_pc;
  logic [3:0] now_cause_offset;
  logic [CauseBits-1:0] now_cause;
  wire arrives = retires || head_valid;
  // Met before the reorder buffer, by the one that arrives.
  logic [CauseBits-1:0] arrival_cause, alloc_cause;
  logic alloc_seen;

  assign alloc_cause = AllocCause < 0 ? 0 :
      CauseBits'(alloc_seen || (rename_blocked && !arrives)) << (AllocCause < 0 ? 0 : AllocCause);
  assign arrival_cause = (retires ? oldest_cause : head_cause) & FrontCauses[CauseBits-1:0];
  always_ff @(posedge clk) begin
    if (rst) alloc_seen <= 0;
    else if (AllocCause >= 0)
      alloc_seen <= (alloc_seen && !arrives || rename_blocked && !head_valid) && !flush;
  end

  always_comb begin
    now_state = Retiring;
    now_wait = Nothing;
    now_pc = oldest_pc;
    now_cause_offset = 0;
    now_cause = 0;
    if (retires) begin
      now_cause_offset = first_offset;
      now_cause = first_cause;
      if (head_valid && !head_done) begin
        now_wait = Leaving;
        if (first_offset == 0 && 32'(retired) < Width) now_cause_offset = retired + 1;
      end else if (!head_valid && !flush && !youngest_flushes) begin
        now_wait = Arrival;
      end
    end else if (head_valid && !(rollback && head_done)) begin
      now_state = Stalled;
      now_wait = Leaving;
      now_pc = head_pc;
    end else if (head_valid || (flush && refill)) begin
      now_state = Flushed;
      now_pc = flush_pc;
      now_cause = flush_cause;
      now_cause_offset = 4'(flush_cause != 0);
    end else if (flushed && refill) begin
      now_state = Flushed;
      now_pc = {culprit_pc, {Low{1'b0}}};
      now_cause = culprit_cause;
      now_cause_offset = 4'(culprit_cause != 0);
    end else begin
      now_state = Drained;
      now_wait = Arrival;
      now_pc = head_pc;
    end
    if (Causes == 0) begin
      now_cause = 0;
      if (now_state == Retiring && now_wait == Arrival || now_state == Stalled) now_wait = Nothing;
      if (now_wait == Leaving) now_wait = Nothing;
    end
    if (!Late && now_wait != Nothing) begin
      // What is known now has to do.
      if ((now_wait == Leaving ? head_cause : arrival_cause | alloc_cause) != 0 && Causes > 0) begin
        now_cause = now_wait == Leaving ? head_cause : arrival_cause | alloc_cause;
        now_cause_offset = (retires ? retired : 0) + 1;
      end
      now_wait = Nothing;
    end
  end

  // ---- Records ----------------------------------------------------------------------------------

  logic [Pc-1:0] entry_pc[Depth];
  logic [3:0] entry_retired[Depth], entry_transfers[Depth], entry_offset1[Depth], entry_offset2[Depth];
  logic [1:0] entry_state[Depth];
  logic [3:0] entry_cause_offset[Depth];
  logic [CauseBits-1:0] entry_cause[Depth];
  logic [Pc*Stored-1:0] entry_target[Depth];
  logic [1:0] entry_wait[Depth];
  logic [UsedBits-1:0] used;
  logic pending;

  // The instruction at the head left: it retires, or it has faulted.
  wire leaves = retires || (flush && !head_valid);
  wire [CauseBits-1:0] leaving_cause = retires ? oldest_cause : flush_cause;
  wire done = used != 0 && entry_wait[0] == Nothing;
  wire pop = streams && done && !pending && record_ready;
  wire room = streams ? 32'(used) < Depth || pop : used == 0;
  wire take = sample && room && !pending;
  wire drop = cc_start || cc_stop;
  wire clear = pending && lcofip_clear;

  assign sampled = take;
  assign lcofip = pending;

  wire csr_store = csr_valid && csr_write && !csr_illegal && !csr_virtual && !streams;

  always_ff @(posedge clk) begin
    if (rst) begin
      used <= 0;
      pending <= 0;
    end else begin
      if (clear) pending <= 0;
      else if (!streams && done && !drop) pending <= 1;
      if (drop && !pending || clear) used <= 0;
      else used <= used + UsedBits'(take) - UsedBits'(pop);
    end
  end

  // Entry i takes its neighbour's place when the oldest leaves.
  genvar g;
  generate
    for (g = 0; g < Depth; g++) begin : g_entry
      localparam int From = g + 1 < Depth ? g + 1 : g;
      logic [1:0] waits;
      logic [3:0] number;
      logic [Pc-1:0] pc;
      logic [3:0] cause_offset;
      logic [CauseBits-1:0] cause, late_cause;
      logic fill, ready;
      always_comb begin
        fill = take && 32'(used) - 32'(pop) == g;
        waits = pop ? entry_wait[From] : entry_wait[g];
        number = pop ? entry_retired[From] : entry_retired[g];
        pc = pop ? entry_pc[From] : entry_pc[g];
        cause_offset = pop ? entry_cause_offset[From] : entry_cause_offset[g];
        cause = pop ? entry_cause[From] : entry_cause[g];
        ready = (waits == Arrival && arrives) || (waits == Leaving && leaves);
        late_cause = waits == Leaving ? leaving_cause : arrival_cause | alloc_cause;
        if (ready) begin
          if (waits == Arrival && number == 0) pc = retires ? oldest_pc[Xlen-1:Low] : head_pc[Xlen-1:Low];
          if (Causes > 0 && late_cause != 0) begin
            cause = late_cause;
            cause_offset = number + 1;
          end
          waits = Nothing;
        end
      end
      always_ff @(posedge clk) begin
        if (fill) begin
          entry_wait[g] <= now_wait;
          entry_pc[g] <= now_pc[Xlen-1:Low];
          entry_retired[g] <= retired;
          entry_state[g] <= now_state;
          entry_transfers[g] <= transfers;
          entry_offset1[g] <= offset1;
          entry_offset2[g] <= offset2;
          entry_cause_offset[g] <= now_cause_offset;
          entry_cause[g] <= now_cause;
          entry_target[g][Pc-1:0] <= target1[Xlen-1:Low];
          if (Targets > 1) entry_target[g][Pc*(Stored-1)+:Pc] <= target2[Xlen-1:Low];
        end else begin
          entry_wait[g] <= waits;
          entry_pc[g] <= pc;
          entry_cause_offset[g] <= cause_offset;
          entry_cause[g] <= cause;
          if (pop) begin
            entry_retired[g] <= entry_retired[From];
            entry_state[g] <= entry_state[From];
            entry_transfers[g] <= entry_transfers[From];
            entry_offset1[g] <= entry_offset1[From];
            entry_offset2[g] <= entry_offset2[From];
            entry_target[g] <= entry_target[From];
          end
          if (g == 0 && csr_store) begin
            if (csr_addr == CsrBase) entry_pc[g] <= csr_wdata[Xlen-1:Low];
            if (csr_addr == CsrBase + 12'd2) begin
              entry_retired[g] <= csr_wdata[3:0];
              entry_state[g] <= csr_wdata[5:4];
              entry_transfers[g] <= csr_wdata[9:6];
              entry_offset1[g] <= csr_wdata[13:10];
              entry_offset2[g] <= csr_wdata[17:14];
              entry_cause_offset[g] <= csr_wdata[21:18];
              entry_cause[g] <= csr_wdata[22+:CauseBits];
            end
            if (csr_addr == CsrBase + 12'd3) entry_target[g][Pc-1:0] <= csr_wdata[Xlen-1:Low];
            if (csr_addr == CsrBase + 12'd4 && Targets > 1)
              entry_target[g][Pc*(Stored-1)+:Pc] <= csr_wdata[Xlen-1:Low];
          end
        end
        if (rst) entry_wait[g] <= Nothing;
      end
    end
  endgenerate

  // Overflows that found a sample pending or no room, of which the next record tells.
  logic [31:0] discarded, told;
  generate
    if (Discarded && Xlen == 64) begin : g_discarded
      always_ff @(posedge clk) begin
        if (rst) begin
          discarded <= 0;
          told <= 0;
        end else begin
          if (take && used == 0 || pop) begin
            told <= discarded;
            discarded <= 32'(sample && !take);
          end else if (sample && !take && !(&discarded)) discarded <= discarded + 1;
        end
      end
    end else begin : g_not_counted
      assign discarded = 0;
      assign told = 0;
    end
  endgenerate

  // ---- What is read -----------------------------------------------------------------------------

  localparam logic [9:0] Tracked = Causes >= 10 ? 10'h3ff : Causes <= 0 ? 10'h0 : 10'((1 << Causes) - 1);

  always_comb begin
    record_pc = {entry_pc[0], {Low{1'b0}}};
    record_details = 0;
    record_details[3:0] = entry_retired[0];
    record_details[5:4] = entry_state[0];
    record_details[9:6] = entry_transfers[0];
    record_details[13:10] = entry_offset1[0];
    record_details[17:14] = entry_offset2[0];
    record_details[21:18] = entry_cause_offset[0];
    record_details[31:22] = 10'(entry_cause[0]) & Tracked;
    record_bt1 = Targets > 0 ? {entry_target[0][Pc-1:0], {Low{1'b0}}} : 0;
    record_bt2 = Targets > 1 ? {entry_target[0][Pc*(Stored-1)+:Pc], {Low{1'b0}}} : 0;
    record_data = 0;
    record_data[4:0] = CounterId;
    if (Xlen == 64) record_data[Xlen-1-:32] = told;
  end
  assign record_valid = streams && done && !pending;

  assign csr_hit = csr_addr >= CsrBase && csr_addr <= CsrBase + 12'd5;
  // Counter delegation gives S-mode access; guests trap to the hypervisor.
  assign csr_illegal = csr_valid && csr_hit && !csr_machine && !csr_guest && (csr_user || !csr_delegated);
  assign csr_virtual = csr_valid && csr_hit && !csr_machine && csr_guest;

  always_comb begin
    csr_rdata = 0;
    case (csr_addr)
      CsrBase: csr_rdata = record_pc;
      CsrBase + 12'd1: csr_rdata = record_data;
      CsrBase + 12'd2: csr_rdata[31:0] = record_details;
      CsrBase + 12'd3: csr_rdata = record_bt1;
      CsrBase + 12'd4: csr_rdata = record_bt2;
      CsrBase + 12'd5: begin
        csr_rdata[CounterBits-1:0] = start;
        csr_rdata[31] = streams;
      end
      default: ;
    endcase
  end

`ifdef SHPMS_ASSERT
  // Invariants: checked in simulation, and proven (tests/rtl/formal.t).
  logic stored;  // software has written the registers: entry 0 need not be the record of a cycle
  logic was_pending;
  logic [31:0] was_details;
  logic [Xlen-1:0] was_pc;
  logic [MinimumBits:0] since;  // counted cycles since the last overflow or the start, as far as they matter
  localparam logic [MinimumBits:0] Least = (MinimumBits + 1)'(1) << MinimumBits;
  always_ff @(posedge clk) begin
    stored <= !rst && !(take && used == UsedBits'(pop)) && (csr_store || (stored && !pop));
    was_pending <= pending && !clear && !rst && !csr_store;
    was_details <= record_details;
    was_pc <= record_pc;
    if (rst || cc_start) since <= 0;
    else if (running && count) since <= due ? 1 : since == Least ? Least : since + 1'b1;
    if (!rst) begin
      assert (32'(used) <= Depth);
      assert (!pending || (used != 0 && entry_wait[0] == Nothing));
      assert (!(sampled && pending));
      assert (!sampled || sample);
      assert (!was_pending || (pending && record_details == was_details && record_pc == was_pc));
      assert (!record_valid || (used != 0 && entry_wait[0] == Nothing));
      assert (running || (counter == 0 && start == 0));
      assert (!due || since == Least);
      assert (!running || due || since == Least || counter == start + CounterBits'(since));
      assert (!running || !due || counter == start);
      assert (!running || counter >= start);
      assert (!running || due || since != Least || counter - start >= CounterBits'(Least));
      assert (running || (!due && !streams));
      assert (since <= Least);
      assert (!running || !(&(start | ShortMask) && |(start & ShortMask)));
      assert (!(csr_illegal && csr_virtual));
    end
  end
  generate
    for (g = 0; g < Depth; g++) begin : g_assert
      always_ff @(posedge clk) begin
        if (!rst && 32'(used) > g && !(g == 0 && stored)) begin
          assert (32'(entry_retired[g]) <= Width);
          assert ((entry_state[g] == Retiring) == (entry_retired[g] != 0));
          assert (entry_transfers[g] <= entry_retired[g]);
          assert (entry_offset1[g] <= entry_retired[g] && entry_offset2[g] <= entry_retired[g]);
          assert ((entry_offset1[g] != 0) == (entry_transfers[g] != 0));
          assert ((entry_offset2[g] != 0) == (entry_transfers[g] > 1));
          assert (entry_transfers[g] < 2 || entry_offset1[g] < entry_offset2[g]);
          assert (entry_cause_offset[g] <= entry_retired[g] + 1);
          assert (entry_cause_offset[g] != 0 || entry_cause[g] == 0);
          assert (entry_wait[g] != Leaving || entry_state[g] <= Stalled);
          assert (entry_state[g] != Flushed || entry_wait[g] == Nothing);
        end
      end
    end
  endgenerate
`endif

  // Inputs that a configuration does not need, and address bits that are always 0.
  wire unused = &{1'b0, csr_wdata, slot_short, slot_pc, slot_target, head_pc, flush_pc, redirect, redirect_due,
                  rename_blocked, rollback, record_ready, discarded, told, target1[Low-1:0], target2[Low-1:0], now_pc[Low-1:0],
                  youngest_pc[Low-1:0], oldest_pc[Low-1:0]};
endmodule
