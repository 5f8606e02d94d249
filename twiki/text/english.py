"""The names of English Wikipedia, for :meth:`twiki.text.siteinfo.SiteInfo.english`."""

NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Wikipedia",
    5: "Wikipedia talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
    100: "Portal",
    101: "Portal talk",
    118: "Draft",
    119: "Draft talk",
    126: "MOS",
    127: "MOS talk",
    710: "TimedText",
    711: "TimedText talk",
    828: "Module",
    829: "Module talk",
}

ALIASES = {
    "WP": 4,
    "Project": 4,
    "WT": 5,
    "Project talk": 5,
    "Image": 6,
    "Image talk": 7,
    "TM": 10,
}

LANGUAGES = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba
ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug
bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb cmn co cr crh cs csb cu cv cy cz da dag de dga din diq
dk dsb dtp dty dv dz ee egl el eml en eo epo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr
fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr
hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jp jv ka kaa kab kbd
kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg
li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos
mr mrj ms mt mus mwl my myv mzn na nah nan nap nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso
nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy
rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn si simple sk
skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet tg th ti tig tk
tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu
xal xh xmf yi yo yue za zea zgh zh zh-classical zh-cn zh-min-nan zh-tw zh-yue zu
"""

INTERWIKIS = """
b c commons d foundation incubator m media mediawiki meta n oldwikisource outreach phab q s
species v voy w wikibooks wikidata wikimedia wikinews wikipedia wikiquote wikisource wikispecies
wikiversity wikivoyage wikt wiktionary
"""

SWITCHES = """
NOTOC FORCETOC TOC NOEDITSECTION NEWSECTIONLINK NONEWSECTIONLINK NOGALLERY HIDDENCAT INDEX NOINDEX
STATICREDIRECT NOTITLECONVERT NOTC NOCONTENTCONVERT NOCC DISAMBIG EXPECTUNUSEDCATEGORY
EXPECTUNUSEDTEMPLATE NOGLOBAL ARCHIVEDTALK NOTALK EXPECTED_UNCONNECTED_PAGE START END
"""
